"""The broker's connections to PostgreSQL are cut again and again while clients post and consume."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.client import Client, claim
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster

POSTERS, CONSUMERS = 4, 4
CUT_SECONDS = 0.2  # between two cuts, at least
CUT_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name LIKE 'willow %%'"
)
FINISHED = (
    "SELECT convert_from(body, 'UTF8') FROM delivery_journal WHERE queue_name = %s AND outcome = 'finished' ORDER BY 1"
)


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(reaper=True) as cluster:
        yield cluster


async def post(client: Client, queue: str, bodies: list[str]) -> None:
    """Each until it is stored. By its dedupe text one that is repeated after an error is stored once."""
    for body in bodies:
        await client.ask_until_available("post", queue, message=body, dedupe=body, notify=["sync"])


async def consume(client: Client, queue: str, over: asyncio.Event) -> None:
    while not over.is_set():
        answer = await client.ask_until_available("fetch", queue, block_timeout=0.2, work_timeout=2)
        if answer["type"] == "message":
            await client.ask_until_available("finish", **claim(answer), response="sync")


async def cut_until_finished(cluster: Cluster, queue: str, messages: int, over: asyncio.Event) -> None:
    """A machine on which it takes longer to connect again than until the next cut would never finish anything."""
    finished = 0
    while finished < messages:
        await asyncio.to_thread(cluster.query, CUT_ALL)
        before = finished
        async with asyncio.timeout(PATIENCE):
            while finished == before:
                await asyncio.sleep(CUT_SECONDS)
                finished = len(await asyncio.to_thread(cluster.query, FINISHED, queue))
    over.set()


@pytest.mark.parametrize("messages", [200, pytest.param(5000, marks=pytest.mark.long)])
async def test_every_message_is_stored_and_finished_once(
    cluster: Cluster, connect: Connect, queue: str, messages: int
) -> None:
    clients = [await connect(cluster.node) for _ in range(POSTERS + CONSUMERS)]
    await clients[0].create(queue, keep_bodies=True, retry_limit=1000, retry_delay=0)
    bodies, over = [str(number) for number in range(messages)], asyncio.Event()
    await asyncio.gather(
        cut_until_finished(cluster, queue, messages, over),
        *(post(client, queue, bodies[number::POSTERS]) for number, client in enumerate(clients[:POSTERS])),
        *(consume(client, queue, over) for client in clients[POSTERS:]),
    )
    assert [body for (body,) in cluster.query(FINISHED, queue)] == sorted(bodies)
    assert (await clients[0].ask_until_available("fetch", queue))["type"] == "nomessage"
