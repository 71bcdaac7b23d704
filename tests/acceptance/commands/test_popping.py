"""Pop: messages that end in the moment in which they are taken."""

import pytest

from tests.support.client import Client, claim

STAGES = ["ready", "write", "sync", "assign", "finish", "retry", "drop"]


async def test_an_empty_queue_answers_at_once_without_a_timeout(client: Client, queue: str) -> None:
    label = await client.begin("pop", queue)
    assert await client.next(label) == {"type": "nomessage", "label": label}


async def test_an_empty_queue_answers_when_the_timeout_is_over(client: Client, queue: str) -> None:
    label = await client.begin_waiting("pop", queue, timeout=2)  # longer than the answer to another
    assert client.unread(label) == []
    await client.expect(label, type="nomessage")


async def test_a_popped_message_is_over(client: Client, queue: str) -> None:
    notice = await client.post(queue, "m", priority=7)
    message = await client.pop(queue)
    assert message == {
        "type": "message",
        "label": message["label"],
        "shard": notice["shard"],
        "sequence": notice["sequence"],
        "index": notice["index"],
        "body": "m",
        "finished": True,
        "queue": queue,
        "tags": [],
        "attempt": 1,
        "priority": 7,
    }
    label = await client.begin("finish", **claim(message))
    await client.expect(label, code="NoObject")
    await client.finds_nothing(queue)


async def test_a_pop_takes_up_to_count_messages_in_order(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    first, second = await client.begin("pop", queue, count=2), await client.begin("pop", queue, count=2)
    assert [(await client.next(label))["body"] for label in (first, first, second)] == ["1", "2", "3"]
    await client.finds_nothing(queue)
    assert client.unread() == []


async def test_a_waiting_pop_gets_what_is_stored(client: Client, other: Client, queue: str) -> None:
    """A post that asked only to be stored must be told so, and so it is no case for a fast pop."""
    label = await other.begin_waiting("pop", queue, timeout=60)
    await client.post(queue, "m")
    await other.expect(label, type="message", body="m", finished=True, index=1)


async def test_a_waiting_pop_takes_what_comes_and_does_not_wait_for_its_count(
    client: Client, other: Client, queue: str
) -> None:
    label = await other.begin_waiting("pop", queue, timeout=60, count=5)
    await client.post(queue, "m")
    await other.expect(label, type="message", body="m")
    await client.post(queue, "n")
    assert (await client.pop(queue))["body"] == "n"


@pytest.mark.parametrize(
    ("notify", "told"), [(STAGES, 1), (["ready"], 1), (["finish"], 1), (["assign", "drop"], 0), ([], 0)]
)
async def test_a_fast_pop_is_told_by_a_single_finish(
    client: Client, other: Client, queue: str, notify: list[str], told: int
) -> None:
    popping = await other.begin_waiting("pop", queue, timeout=60)
    label = await client.begin("post", queue, message="m", notify=notify)
    message = await other.expect(popping, type="message", body="m", finished=True)
    await client.finds_nothing(queue)
    notices = client.unread(label)
    assert [notice["notice"] for notice in notices] == ["finish"] * told
    assert message["index"] == 0  # it was never stored


async def test_the_pop_that_waits_longest_is_served_first(client: Client, other: Client, queue: str) -> None:
    labels = [await other.begin_waiting("pop", queue, timeout=60) for _ in range(3)]
    for label in labels:
        await client.begin("post", queue, message=f"for {label}")
    for label in labels:
        await other.expect(label, type="message", body=f"for {label}")
