"""The processor time of this process for posting, and for taking and finishing, message by message and in hundreds."""

import time

from benchmarks.peers.connection import Connection
from benchmarks.peers.workload import BODY, connected

GROUP = 100  # messages
WARM_UP = 200  # messages
PATIENCE_SECONDS = 5.0  # that a taker waits for the next message

Costs = dict[str, float]  # microseconds per message, by what was done

POST, POST_MANY, TAKE, TAKE_MANY = "post", "post in 100s", "take + finish", "take + finish in 100s"


async def costs_of_client(peer_name: str, address: str, messages: int) -> Costs:
    """Each kind of work on so many messages: as many as are posted are taken afterwards."""
    costs: Costs = {}
    async with connected(peer_name, address, 1) as (connection,):
        for post, take, group in ((POST, TAKE, 1), (POST_MANY, TAKE_MANY, GROUP)):
            await _post(connection, WARM_UP, group)
            costs[post] = await _post(connection, messages, group)
            await _take(connection, WARM_UP, group)
            costs[take] = await _take(connection, messages, group)
    return costs


async def _post(connection: Connection, messages: int, group: int) -> float:
    began = time.process_time()
    for _ in range(0, messages, group):
        await connection.post([BODY] * group)
    return (time.process_time() - began) * 1e6 / messages


async def _take(connection: Connection, messages: int, group: int) -> float:
    began, done = time.process_time(), 0
    while done < messages:
        taken = await connection.take(min(group, messages - done), wait=PATIENCE_SECONDS)
        if taken:
            await connection.finish(taken)
        done += len(taken)
    return (time.process_time() - began) * 1e6 / messages
