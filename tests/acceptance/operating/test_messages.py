"""Operators act on messages while clients are connected to the broker."""

from typing import Any

from delivery.inspection.search import find_ids
from delivery.models import AuditEntry, EndedCount, Journal
from delivery.moves.message_id import MessageId
from delivery.moves.states import State
from delivery.operating.messages import (
    messages_drop,
    messages_move,
    messages_retry_now,
    messages_set_priority,
)
from delivery.operating.tally import CLAIMED, GONE
from tests.acceptance.operating.chosen import all_of, message_id, queue_of
from tests.acceptance.operating.conftest import Act
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.operators import OPERATOR


async def test_a_delayed_message_goes_to_a_waiting_client_at_once(act: Act, client: Client, queue: str) -> None:
    stored = await client.post(queue, "later", delay=3600)
    fetching = await client.begin("fetch", queue, block_timeout=30)
    tally = await act(messages_retry_now, chosen=[message_id(stored)], by=OPERATOR)
    assert (tally.done, tally.skipped.total()) == (1, 0)
    await client.expect(fetching, type="message", body="later", attempt=1)


async def test_what_is_not_delayed_is_skipped_with_its_reason(act: Act, client: Client, queue: str) -> None:
    stored = await client.post(queue, "ready")
    gone = MessageId(stored["shard"], 999)
    tally = await act(messages_retry_now, chosen=[message_id(stored), gone], by=OPERATOR)
    assert (tally.done, dict(tally.skipped)) == (0, {"ready": 1, GONE: 1})


async def test_dropping_tells_the_poster_writes_the_journal_and_counts_it_as_ended(
    act: Act, client: Client, queue: str
) -> None:
    label = await client.begin("post", queue, message="unwanted", notify=["sync", "drop"])
    stored = await client.expect(label, notice="sync")
    tally = await act(messages_drop, chosen=all_of(stored["shard"]), by=OPERATOR)
    assert tally.done == 1
    await client.expect(label, notice="drop", shard=stored["shard"], sequence=stored["sequence"])
    await client.finds_nothing(queue)

    def written() -> Any:
        row = Journal.objects.get(queue_id=stored["shard"])
        ended = EndedCount.objects.get(queue_id=stored["shard"]).messages
        return row.outcome, row.reason, row.node, row.index, ended

    assert await act(written) == ("dropped", "operator", "operator", stored["index"], 1)


async def test_claimed_messages_are_left_alone(act: Act, client: Client, queue: str) -> None:
    await client.post_all(queue, ["held", "waiting"])
    held = await client.fetch(queue)
    chosen = all_of(held["shard"])
    for action, more in (
        (messages_drop, {}),
        (messages_retry_now, {}),
        (messages_set_priority, {"priority": 3}),
    ):
        tally = await act(action, chosen=chosen, by=OPERATOR, **more)
        assert tally.skipped[CLAIMED] == 1
    await client.finish(held)


async def test_an_id_that_was_used_again_is_not_meant(act: Act, client: Client, queue: str) -> None:
    first = await client.post(queue, "first")
    await client.pop(queue)
    second = await client.post(queue, "second")
    assert second["sequence"] == first["sequence"]
    tally = await act(messages_drop, chosen=[message_id(first)], by=OPERATOR)
    assert (tally.done, dict(tally.skipped)) == (0, {GONE: 1})
    assert (await client.pop(queue))["body"] == "second"


async def test_a_moved_message_wakes_who_waits_there_and_its_poster_still_hears_of_it(
    act: Act, client: Client, other: Client, queue: str
) -> None:
    label = await client.begin("post", queue, message="work", priority=7, notify=["sync", "finish"])
    stored = await client.expect(label, notice="sync")
    waiting = await other.begin_waiting("fetch", f"{queue}-b", block_timeout=30)
    shard = (await other.create(f"{queue}-b"))["shard"]

    def move() -> Any:
        return messages_move(chosen=all_of(stored["shard"]), target=queue_of(shard), by=OPERATOR)

    assert (await act(move)).done == 1
    moved = await other.expect(waiting, type="message", body="work", priority=7, attempt=1)
    await other.finish(moved)
    await client.expect(label, notice="finish", shard=shard)

    def journal_of_source() -> Any:
        row = Journal.objects.get(queue_id=stored["shard"])
        return row.outcome, row.reason, row.error

    assert await act(journal_of_source) == ("dropped", "operator", f"moved to {queue}-b, index {moved['index']}")


async def test_what_does_not_fit_stays_where_it_is(act: Act, client: Client, queue: str) -> None:
    stored = await client.post_all(queue, ["a", "b", "c"])
    target = await client.create(f"{queue}-b", max_length=2)

    def move() -> Any:
        return messages_move(chosen=all_of(stored[0]["shard"]), target=queue_of(target["shard"]), by=OPERATOR)

    tally = await act(move)
    assert (tally.done, tally.failed.total(), tally.skipped.total()) == (2, 1, 0)
    assert "is full" in next(iter(tally.failed))
    assert (await client.pop(queue))["body"] == "c"


async def test_a_higher_priority_goes_first(act: Act, client: Client, queue: str) -> None:
    stored = await client.post_all(queue, ["a", "b"])
    tally = await act(messages_set_priority, chosen=[message_id(stored[1])], priority=9, by=OPERATOR)
    assert tally.done == 1
    assert (await client.fetch(queue))["body"] == "b"


async def test_filters_choose_by_all_that_they_name(act: Act, client: Client, queue: str) -> None:
    stored = [await client.post(queue, body, priority=priority) for body, priority in (("red", 1), ("blue", 5))]
    stored.append(await client.post(queue, "red late", delay=3600))
    shard = stored[0]["shard"]

    async def found(**conditions: Any) -> list[int]:
        page = await act(find_ids, all_of(shard, **conditions), limit=100)
        return [row.index for row in page.rows]

    assert await found() == [1, 2, 3]
    assert await found(text="red") == [1, 3]
    assert await found(states=frozenset({State.DELAYED})) == [3]
    assert await found(states=frozenset({State.READY})) == [1, 2]
    assert await found(priority_from=2) == [2]
    assert await found(index_from=2, index_to=2) == [2]
    assert await found(sequence=stored[1]["sequence"]) == [2]
    assert await found(sequence=12345) == []
    await client.fetch(queue)
    assert await found(states=frozenset({State.CLAIMED})) == [2]


async def test_an_action_ends_at_its_bound_and_says_so(act: Act, client: Client, queue: str) -> None:
    stored = await client.post_all(queue, [str(number) for number in range(5)])
    chosen = all_of(stored[0]["shard"])
    tally = await act(messages_drop, chosen=chosen, by=OPERATOR, limit=3)
    assert (tally.done, tally.more) == (3, True)
    tally = await act(messages_drop, chosen=chosen, by=OPERATOR)
    assert (tally.done, tally.more) == (2, False)


async def test_actions_are_audited_without_what_was_searched_for(
    act: Act, client: Client, broker: Cluster, queue: str
) -> None:
    stored = await client.post(queue, "a secret")
    await act(messages_drop, chosen=all_of(stored["shard"], text="secret"), by=OPERATOR)
    entry = await act(AuditEntry.objects.get, target=queue)
    assert (entry.actor, entry.action, entry.messages) == ("ops", "drop messages", 1)
    assert "secret" not in str(entry.details)
