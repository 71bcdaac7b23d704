"""Whoever waits is woken by the event itself: the slow poll behind it is turned off here."""

from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster


@pytest.fixture(scope="module")
def unpolled(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(WILLOW_POLL_SECONDS="3600") as cluster:
        yield cluster


@pytest.mark.parametrize(("read", "how_long"), [("fetch", "block_timeout"), ("pop", "timeout")])
async def test_a_message_wakes_the_next_reader_while_one_is_being_served(
    unpolled: Cluster, connect: Connect, queue: str, read: str, how_long: str
) -> None:
    client = await connect(unpolled.node)
    labels = [await client.begin_waiting(read, queue, **{how_long: 30}) for _ in range(3)]
    with unpolled.readers_held_up():
        for body in ("1", "2", "3"):
            await client.post(queue, body)
    assert {(await client.next(label)).get("body") for label in labels} == {"1", "2", "3"}


async def test_a_reader_is_woken_by_a_message_that_came_back(unpolled: Cluster, connect: Connect, queue: str) -> None:
    holder, reader = await connect(unpolled.node), await connect(unpolled.node)
    await holder.post(queue, "m")
    message = await holder.fetch(queue)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30)
    await holder.fail(message, delay=0.1)
    message = await reader.expect(label, type="message", attempt=2)
    label = await holder.begin_waiting("fetch", queue, block_timeout=30)
    await reader.close()
    await holder.expect(label, type="message", attempt=3)


async def test_a_reader_is_woken_by_a_dead_letter(unpolled: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(unpolled.node)
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    label = await client.begin_waiting("fetch", f"{queue}.dead", block_timeout=30)
    await client.fail(await client.fetch(queue))
    await client.expect(label, type="message", body="m")


async def test_a_reader_is_woken_by_the_queue_that_comes_to_match(
    unpolled: Cluster, connect: Connect, queue: str
) -> None:
    client = await connect(unpolled.node)
    label = await client.begin("fetch", queue, tags=["t"], match="strict", block_timeout=30)
    await client.post(queue, "m", tags=["t", "u"])
    await client.expect(label, type="message", body="m")
