"""A post to a queue where somebody waits and nothing is ahead of it is theirs as soon as it is stored.

While the storage holds up claims, nobody can get a message in any other way. The slow poll is turned off.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster

STORE_AS_ANOTHER_NODE = """
    WITH advanced AS (
        UPDATE queues_counter c SET newest_index = newest_index + 1, next_sequence = next_sequence + 1
        FROM queues_queue q WHERE q.id = c.queue_id AND q.name = %s
        RETURNING q.id, newest_index, next_sequence
    )
    INSERT INTO delivery_message (queue_id, sequence, index, priority, state, body)
    SELECT id, next_sequence - 1, newest_index, 0, 0, 'older' FROM advanced
"""


@pytest.fixture(scope="module")
def unpolled(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(WILLOW_POLL_SECONDS="3600") as cluster:
        yield cluster


@pytest.fixture
async def poster(unpolled: Cluster, connect: Connect, queue: str) -> AsyncIterator[Client]:
    """Its node has stored something in the queue before, and has seen it taken."""
    client = await connect(unpolled.node)
    await client.post(queue, "before")
    await client.finish(await client.fetch(queue))
    yield client


@pytest.mark.parametrize("fields", [{}, {"dedupe": "d"}])
async def test_a_waiting_fetch_gets_it_without_a_claim(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str, fields: dict[str, str]
) -> None:
    reader = await connect(unpolled.node)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30, work_timeout=77)
    with unpolled.readers_held_up():
        stored = await poster.post(queue, "m", priority=3, **fields)
        message = await reader.expect(label, type="message", body="m", attempt=1, priority=3)
    assert (message["sequence"], message["index"]) == (stored["sequence"], stored["index"])
    [(state, work_timeout)] = unpolled.query(
        "SELECT state, work_timeout FROM delivery_message WHERE queue_id = %s", stored["shard"]
    )
    assert (state, work_timeout) == (2, 77)
    await reader.finish(message)


async def test_a_subscription_gets_them_in_order_up_to_its_places(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    label = await reader.subscribe(queue, in_flight=2)
    await reader.finds_nothing(queue)
    with unpolled.readers_held_up():
        await poster.post_all(queue, ["1", "2", "3"])
        first = await reader.expect(label, type="message", body="1")
        second = await reader.expect(label, type="message", body="2")
    await reader.finish(first)
    await reader.expect(label, type="message", body="3")
    await reader.finish(second)


async def test_it_is_held_by_its_reader(unpolled: Cluster, connect: Connect, poster: Client, queue: str) -> None:
    reader = await connect(unpolled.node)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30)
    await poster.post(queue, "m")
    await reader.expect(label, type="message", attempt=1)
    waiting = await poster.begin_waiting("fetch", queue, block_timeout=30)
    await reader.close()
    await poster.expect(waiting, type="message", body="m", attempt=2)


async def test_its_poster_is_told_that_it_was_assigned(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    reading = await reader.begin_waiting("fetch", queue, block_timeout=30)
    with unpolled.readers_held_up():
        label = await poster.begin("post", queue, message="m", notify=["sync", "assign"])
        await poster.expect(label, type="notice", notice="sync")
        await poster.expect(label, type="notice", notice="assign")
        await reader.expect(reading, type="message", body="m")


async def test_what_somebody_else_stored_comes_first(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30)
    unpolled.query(STORE_AS_ANOTHER_NODE, queue)  # whose hint is lost
    await poster.post(queue, "younger")
    await reader.expect(label, type="message", body="older")


async def test_what_is_paused_goes_to_nobody(unpolled: Cluster, connect: Connect, poster: Client, queue: str) -> None:
    reader = await connect(unpolled.node)
    await reader.begin_waiting("fetch", queue, block_timeout=30)
    unpolled.query("UPDATE queues_queue SET paused = true, changed_at = now() WHERE name = %s", queue)
    stored = await poster.post(queue, "m")
    assert unpolled.query("SELECT state, holder FROM delivery_message WHERE queue_id = %s", stored["shard"]) == [
        (0, None)
    ]


async def test_what_came_during_a_pause_comes_first(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30)
    unpolled.query("UPDATE queues_queue SET paused = true WHERE name = %s", queue)
    await poster.create(queue)  # its node learns what became of the queue
    await poster.post(queue, "older")
    await poster.finds_nothing(queue)
    unpolled.query("UPDATE queues_queue SET paused = false WHERE name = %s", queue)
    await poster.create(queue)
    await poster.post(queue, "younger")
    await reader.expect(label, type="message", body="older")


async def test_the_more_urgent_of_a_batch_comes_first(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    label = await reader.begin_waiting("fetch", queue, block_timeout=30)
    await poster.send(
        {"type": "post", "queue": queue, "message": "usual"},
        {"type": "post", "queue": queue, "message": "urgent", "priority": 9},
    )
    await reader.expect(label, type="message", body="urgent")


async def finds_what_it_posts_after(reader: Client, queue: str) -> None:
    """Take what is there, so that the queue runs dry; what is posted next is no less there."""
    first = await reader.expect(await reader.begin("fetch", queue, count=2), type="message")
    fetch = {"type": "fetch", "queue": queue, "block_timeout": PATIENCE, "label": reader.label()}
    await reader.send({"type": "post", "queue": queue, "message": "m"}, fetch)
    second = await reader.expect(fetch["label"], type="message", body="m")
    for message in (first, second):
        await reader.finish(message)


async def test_a_reader_finds_what_is_stored_after_a_post_to_several_queues(poster: Client, queue: str) -> None:
    for _ in range(20):
        await poster.finds_nothing(queue)
        await poster.begin("post", [queue, f"{queue}.other"], message="to several")
        await finds_what_it_posts_after(poster, queue)


async def test_a_reader_finds_what_is_stored_after_something_of_another_node(
    unpolled: Cluster, poster: Client, queue: str
) -> None:
    for _ in range(20):
        await poster.finds_nothing(queue)
        unpolled.query(STORE_AS_ANOTHER_NODE, queue)  # whose hint is lost
        await finds_what_it_posts_after(poster, queue)


async def test_nothing_overtakes_what_is_being_claimed(
    unpolled: Cluster, connect: Connect, poster: Client, queue: str
) -> None:
    reader = await connect(unpolled.node)
    await reader.begin("fetch", queue, block_timeout=30, label=7)
    await reader.begin_waiting("fetch", queue, block_timeout=30, label=7)
    with unpolled.readers_held_up():
        await poster.post(queue, "first", ttl=60)  # goes the ordinary way
        await poster.post(queue, "second")
    await reader.expect(7, type="message", body="first")
    await reader.expect(7, type="message", body="second")
