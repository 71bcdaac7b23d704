"""The same work for every peer: eight clients post, and eight clients take and finish, one by one and in hundreds."""

import asyncio
import importlib
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.peers.connection import Connection
from benchmarks.rates import Meter, per_second

CLIENTS = 8
BODY_SIZE = 100  # bytes
FILL_BATCH = 500  # messages


async def posts_per_second(peer_name: str, address: str, group: int, seconds: float) -> float:
    bodies = [b"x" * BODY_SIZE] * group

    async def work(connection: Connection, meter: Meter) -> None:
        while meter.running:
            await connection.post(bodies)
            meter.done += group

    async with _connected(peer_name, address, CLIENTS) as connections:
        workers = [lambda meter, connection=connection: work(connection, meter) for connection in connections]
        return await per_second(workers, seconds)


async def takes_per_second(peer_name: str, address: str, group: int, seconds: float) -> float:
    """Until the time is over or the queue is empty."""
    done = 0
    async with _connected(peer_name, address, CLIENTS) as connections:
        began = last_finish = time.perf_counter()

        async def work(connection: Connection) -> None:
            nonlocal done, last_finish
            while last_finish < began + seconds and (taken := await connection.take(group)):
                await connection.finish(taken)
                done += len(taken)
                last_finish = time.perf_counter()

        await asyncio.gather(*(work(connection) for connection in connections))
        return done / (last_finish - began)


async def lay_out(peer_name: str, address: str, messages: int, seconds: float) -> None:
    """Fill the queue with that many messages, or with as many as can be posted in that time."""
    deadline = time.perf_counter() + seconds
    async with _connected(peer_name, address, 1) as (connection,):
        for _ in range(0, messages, FILL_BATCH):
            await connection.post([b"x" * BODY_SIZE] * FILL_BATCH)
            if time.perf_counter() > deadline:
                return


@asynccontextmanager
async def _connected(peer_name: str, address: str, count: int) -> AsyncIterator[list[Connection]]:
    peer = importlib.import_module(peer_name)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(peer.connect(address)) for _ in range(count)]
