"""Fetch: messages that are one client's until it finishes or fails them, or its time is over."""

import asyncio

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect


async def test_an_empty_queue_answers_at_once(client: Client, queue: str) -> None:
    label = await client.begin("fetch", queue)
    assert await client.next(label) == {"type": "nomessage", "label": label}


async def test_an_empty_queue_answers_when_block_timeout_is_over(client: Client, queue: str) -> None:
    label = await client.begin_waiting("fetch", queue, block_timeout=2)  # longer than the answer to another
    assert client.unread(label) == []
    await client.expect(label, type="nomessage")


async def test_a_message_says_everything_about_itself(client: Client, queue: str) -> None:
    notice = await client.post(queue, "m", tags=["b", "a"], priority=7)
    message = await client.fetch(queue, tags=["a", "b"])
    assert message == {
        "type": "message",
        "label": message["label"],
        "shard": notice["shard"],
        "sequence": notice["sequence"],
        "index": notice["index"],
        "body": "m",
        "finished": False,
        "queue": queue,
        "tags": ["a", "b"],
        "attempt": 1,
        "priority": 7,
        "work_timeout": 300.0,
    }


async def test_a_claimed_message_is_with_nobody_else(client: Client, other: Client, queue: str) -> None:
    await client.post(queue, "m")
    await client.fetch(queue)
    await other.finds_nothing(queue)
    await client.finds_nothing(queue)


async def test_a_fetch_takes_up_to_count_messages_in_order(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    first, second = await client.begin("fetch", queue, count=2), await client.begin("fetch", queue, count=2)
    assert [(await client.next(label))["body"] for label in (first, first, second)] == ["1", "2", "3"]
    await client.finds_nothing(queue)
    assert client.unread() == []


async def test_a_fetch_may_take_more_than_a_statement_does(client: Client, queue: str) -> None:
    bodies = [str(number) for number in range(1200)]  # more than two batches of 512
    await client.post_all(queue, bodies)
    assert {message["body"] for message in await client.fetch_all(queue, len(bodies))} == set(bodies)


@pytest.mark.parametrize("asked", [{}, {"sync": "ready"}, {"sync": "write"}], ids=str)
async def test_an_assignment_need_not_wait_for_the_disk(
    broker: Cluster, client: Client, queue: str, asked: dict[str, str]
) -> None:
    await client.post(queue, "m")
    with broker.flushes_held_up():
        message = await client.fetch(queue, **asked)
    await client.finish(message)


async def test_an_assignment_with_sync_is_on_disk_before_it_is_told(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.post(queue, "m")
    with broker.flushes_held_up():
        told = asyncio.create_task(client.fetch(queue, sync="sync"))
        while "willow claims" not in await asyncio.to_thread(broker.held_up):
            assert not told.done()
    await client.finish(await told)


async def test_a_blocked_fetch_gets_what_is_posted(client: Client, other: Client, queue: str) -> None:
    label = await other.begin_waiting("fetch", queue, block_timeout=60)
    await client.post(queue, "m")
    await other.expect(label, type="message", body="m")


async def test_a_blocked_fetch_holds_up_nothing_on_its_connection(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2"])
    messages = await client.fetch_all(queue, 2)
    label = await client.begin_waiting("fetch", queue, block_timeout=60)
    await client.finish(messages[0])
    await client.post(f"{queue}-other", "m")
    assert (await client.pop(f"{queue}-other"))["body"] == "m"
    await client.fail(messages[1], delay=0)
    await client.expect(label, type="message", body="2", attempt=2)


async def test_the_fetch_that_waits_longest_is_served_first(client: Client, connect: Connect, queue: str) -> None:
    readers = [await connect() for _ in range(3)]
    labels = [await reader.begin_waiting("fetch", queue, block_timeout=60) for reader in readers]
    await client.post_all(queue, ["1", "2", "3"])
    bodies = [(await reader.next(label))["body"] for reader, label in zip(readers, labels, strict=True)]
    assert bodies == ["1", "2", "3"]


async def test_a_claim_ends_with_its_work_timeout(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    label = await client.begin("post", queue, message="m", notify=["retry"])
    first = await client.fetch(queue, work_timeout=0.2, block_timeout=60)
    second = await other.fetch(queue, block_timeout=60)
    assert (first["attempt"], second["attempt"]) == (1, 2)
    await client.expect(label, notice="retry")


async def test_a_claim_without_work_timeout_ends_with_the_queues_heartbeat_timeout(
    client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, heartbeat_timeout=0.2, retry_delay=0)
    await client.post(queue, "m")
    await client.fetch(queue)
    assert (await other.fetch(queue, block_timeout=60))["attempt"] == 2


async def test_claims_last_five_minutes_unless_somebody_says_otherwise(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    assert _lease_seconds(broker, message) == pytest.approx(300, abs=30)


async def test_a_longer_work_timeout_outlasts_the_heartbeat_timeout(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.create(queue, heartbeat_timeout=0.1)
    await client.post(queue, "m")
    message = await client.fetch(queue, work_timeout=1000)
    assert _lease_seconds(broker, message) == pytest.approx(1000, abs=30)


def _lease_seconds(broker: Cluster, message: dict[str, int]) -> float:
    """How long the claim still lasts."""
    [(seconds,)] = broker.query(
        "SELECT extract(epoch FROM lease_until - now())::float FROM delivery_message"
        " WHERE queue_id = %s AND sequence = %s",
        message["shard"],
        message["sequence"],
    )
    return seconds
