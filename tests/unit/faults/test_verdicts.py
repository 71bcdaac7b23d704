"""The checker finds each wrong that is planted in a history, and nothing else in it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from faults.history import Kind
from faults.remains import Live
from tests.unit.faults.story import DEAD, STREAM, WORK, Story


def a_day_without_faults(story: Story) -> None:
    """Posts, priorities, a retry, a dead letter, a pop, a stream: all as it should be."""
    for client in ("poster", "a", "b"):
        story.connect(client)
    story.post("first", 1)
    story.post("urgent", 2, priority=5)
    story.post("dies", 3, stage="write")
    story.receive("a", 2)
    story.finish("a", 2)
    story.receive("a", 1)
    story.say("a", "fail", 1, stage="write")
    story.end(1, "retried", reason="failed")
    story.receive("b", 1, attempt=2)
    story.finish("b", 1, attempt=2)
    story.receive("b", 3)
    story.end(3, "dead", reason="failed")
    story.newest[DEAD] = 1
    story.live[DEAD, 1] = Live(DEAD, "work.dead", 1, 1, "dies", origin=(WORK, 3))
    story.post("popped", 4)
    story.receive("a", 4, ended=True)
    story.end(4, "popped")
    for index in (1, 2):
        story.post(f"event {index}", index, shard=STREAM)
        story.receive("a", index, shard=STREAM)
        story.say("a", "finish", index, stage="sync", shard=STREAM)


def lost(story: Story) -> None:
    story.post("m", 5)
    del story.live[WORK, 5]


def lost_with_its_dead_letter(story: Story) -> None:
    del story.live[DEAD, 1]


def written_and_lost(story: Story) -> None:
    story.post("m", 5, stage="write")
    del story.live[WORK, 5]


def held_by_two(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.end(5, "retried", reason="timeout")  # long before its 30 s are over
    story.receive("b", 5, attempt=2)


def given_away_as_disconnected_although_the_client_is_there(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.end(5, "retried", reason="disconnected")
    story.receive("b", 5, attempt=2)
    story.now += 5
    story.note("a", Kind.NOTHING, connection=1)  # something still comes over its connection
    story.lose("a")


def given_away_after_it_came_back(story: Story) -> None:
    """It reconnected, and a keepalive was confirmed: it holds the message again."""
    story.post("m", 5)
    story.receive("a", 5)
    story.lose("a")
    story.connect("a", 2, resumed=True)
    label = story.label()
    said = {"shard": WORK, "index": 5, "attempt": 1, "label": label, "connection": 2, "verb": "keepalive"}
    story.note("a", Kind.SAY, **said)
    story.note("a", Kind.CONFIRMED, stage="keepalive", **said)
    story.end(5, "retried", reason="disconnected")
    story.receive("b", 5, attempt=2)


def finished_by_two(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.say("a", "finish", 5, stage="write")
    story.say("a", "finish", 5, stage="write")
    story.end(5, "finished")


def two_ends_in_the_journal(story: Story) -> None:
    story.end(4, "popped")


def popped_by_two(story: Story) -> None:
    story.receive("b", 4, ended=True)


def given_out_after_its_finish(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.say("a", "finish", 5, stage="sync")
    story.end(5, "retried", reason="timeout")
    story.receive("b", 5, attempt=2)


def a_ghost(story: Story) -> None:
    story.receive("a", 99, body="never posted")


def another_body(story: Story) -> None:
    story.post("m", 5)
    story.post("other", 6)
    story.receive("a", 5, body="other")
    story.finish("a", 5)


def a_stale_finish(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.end(5, "retried", reason="timeout")
    story.now += 60
    story.receive("b", 5, attempt=2)
    story.say("a", "finish", 5, attempt=1, stage="write")
    story.end(5, "finished", attempt=2)


def posts_out_of_order(story: Story) -> None:
    story.post("m", 6)
    story.post("n", 5)


def overtaken(story: Story) -> None:
    story.post("m", 5)
    story.post("n", 6)
    story.now += 10
    story.receive("a", 6)
    story.finish("a", 6)
    story.receive("a", 5)
    story.finish("a", 5)


def more_urgent_left_waiting(story: Story) -> None:
    story.post("m", 5)
    story.post("urgent one", 6, priority=9)
    story.now += 10
    story.receive("a", 5)
    story.finish("a", 5)
    story.receive("a", 6)
    story.finish("a", 6)


def a_group_out_of_order(story: Story) -> None:
    story.limits["group"] = 1
    for index in (5, 6):
        story.post(f"m{index}", index)
    for index in (6, 5):
        story.receive("a", index, group="account")
        story.say("a", "finish", index, stage="write")
        story.end(index, "finished", assigned_at=None)


def a_stream_out_of_order(story: Story) -> None:
    for index in (3, 4):
        story.post(f"event {index}", index, shard=STREAM)
    for index in (4, 3):
        story.receive("a", index, shard=STREAM)


def a_gap_in_a_stream(story: Story) -> None:
    for index in (3, 4):
        story.post(f"event {index}", index, shard=STREAM)
    story.receive("a", 4, shard=STREAM)


def acknowledged_and_sent_again(story: Story) -> None:
    story.receive("a", 2, shard=STREAM)


def one_id_for_two(story: Story) -> None:
    story.post("m", 5, sequence=50)
    story.post("n", 6, sequence=50)


def one_index_for_two(story: Story) -> None:
    story.post("m", 5, stage="write")
    story.crash()
    story.post("n", 5)


def two_rows_for_one_attempt(story: Story) -> None:
    story.end(1, "retried", attempt=1)


def a_row_is_missing(story: Story) -> None:
    story.endings = [row for row in story.endings if row.outcome != "retried"]


def miscounted(story: Story) -> None:
    story.miscounted = 1


def ended_and_alive(story: Story) -> None:
    story.live[WORK, 4] = Live(WORK, "work", 4, 4, "popped")
    story.miscounted = -1


def ready_and_waited_for(story: Story) -> None:
    story.post("m", 5)
    story.note("a", Kind.ASK, connection=1, label=900, queue="work", verb="fetch", seconds=30.0)
    for _ in range(4):
        story.note("observer", Kind.READY, shard=WORK, index=5, queue="work")
    story.note("a", Kind.NOTHING, connection=1, label=900)


def twice_for_no_reason(story: Story) -> None:
    story.post("m", 5)
    story.receive("a", 5)
    story.now += 60
    story.receive("b", 5)
    story.finish("b", 5)


def too_many_of_a_subscription(story: Story) -> None:
    story.note("a", Kind.ASK, connection=1, label=900, queue="work", verb="subscribe", count=1)
    for index in (5, 6):
        story.post(f"m{index}", index)
    for index in (5, 6):
        story.receive("a", index, label=900)


def too_many_of_a_queue(story: Story) -> None:
    story.limits["queue"] = 2
    for index in (5, 6, 7):
        story.post(f"m{index}", index)
    for client, index in (("a", 5), ("b", 6), ("a", 7)):
        story.receive(client, index)


def too_many_of_a_group(story: Story) -> None:
    story.limits["group"] = 2
    for index in (5, 6, 7):
        story.post(f"m{index}", index)
    for client, index in (("a", 5), ("b", 6), ("a", 7)):
        story.receive(client, index, group="account")


def never_answered(story: Story) -> None:
    story.note("a", Kind.ASK, connection=1, label=900, queue="work", verb="fetch")
    story.now += 60
    story.note("poster", Kind.NOTHING, connection=1)


def answered_with_the_reply_to_another(story: Story) -> None:
    label = story.label()
    story.note("poster", Kind.POST, connection=1, label=label, queue="service:echo", body="question")
    story.note("poster", Kind.TOLD, connection=1, label=label, queue="service:echo", stage="reply", body="re other")


PLANTED: list[tuple[Callable[[Story], None], set[str]]] = [
    (lost, {"lost"}),
    (lost_with_its_dead_letter, {"lost writes"}),
    (written_and_lost, {"lost writes"}),
    (held_by_two, {"double claims"}),
    (given_away_as_disconnected_although_the_client_is_there, {"double claims"}),
    (given_away_after_it_came_back, {"double claims"}),
    (finished_by_two, {"finished twice"}),
    (two_ends_in_the_journal, {"finished twice"}),
    (popped_by_two, {"popped twice"}),
    (given_out_after_its_finish, {"redelivered after a finish told `sync`"}),
    (a_ghost, {"ghosts"}),
    (another_body, {"ghosts", "indexes twice"}),
    (a_stale_finish, {"stale finishes taken"}),
    (posts_out_of_order, {"order of posts broken"}),
    (overtaken, {"order of queues broken"}),
    (more_urgent_left_waiting, {"order of queues broken"}),
    (a_group_out_of_order, {"order of groups broken"}),
    (a_stream_out_of_order, {"order of streams broken"}),
    (a_gap_in_a_stream, {"stream gaps"}),
    (acknowledged_and_sent_again, {"repeats after acknowledgement"}),
    (one_id_for_two, {"IDs of two live messages"}),
    (one_index_for_two, {"indexes twice"}),
    (two_rows_for_one_attempt, {"journal does not add up"}),
    (a_row_is_missing, {"journal does not add up", "duplicates"}),
    (miscounted, {"journal does not add up"}),
    (ended_and_alive, {"journal does not add up"}),
    (ready_and_waited_for, {"stuck"}),
    (twice_for_no_reason, {"duplicates"}),
    (too_many_of_a_subscription, {"limits exceeded"}),
    (too_many_of_a_queue, {"limits exceeded"}),
    (too_many_of_a_group, {"limits exceeded"}),
    (never_answered, {"unanswered"}),
    (answered_with_the_reply_to_another, {"wrong replies"}),
]


def broken(story: Story) -> set[str]:
    return {verdict.name for verdict in story.judge().verdicts if verdict.broken}


def test_nothing_is_wrong_with_a_day_without_faults() -> None:
    story = Story()
    a_day_without_faults(story)
    judgement = story.judge()
    assert judgement.holds, [verdict for verdict in judgement.verdicts if verdict.broken]
    assert judgement["duplicates"].explained == {"the attempt before ended: failed": 1}


@pytest.mark.parametrize(("plant", "names"), PLANTED, ids=[plant.__name__ for plant, _ in PLANTED])
def test_what_is_planted_is_found(plant: Callable[[Story], None], names: set[str]) -> None:
    story = Story()
    a_day_without_faults(story)
    plant(story)
    assert broken(story) == names


def test_every_verdict_is_planted_once() -> None:
    story = Story()
    assert {name for _, names in PLANTED for name in names} == {verdict.name for verdict in story.judge().verdicts}


# What is allowed


def test_a_write_may_be_taken_back_by_a_crash_of_the_storage() -> None:
    story = Story()
    written_and_lost(story)
    story.crash()
    judgement = story.judge()
    assert judgement.holds
    assert judgement["lost writes"].explained.total() == 1


def test_a_sync_may_not() -> None:
    story = Story()
    lost(story)
    story.crash()
    assert broken(story) == {"lost"}


def test_a_write_long_before_the_crash_may_not() -> None:
    story = Story()
    written_and_lost(story)
    story.now += 60
    story.crash()
    assert broken(story) == {"lost writes"}


def test_a_failover_without_a_synchronous_replica_may_lose_what_was_told_sync() -> None:
    story = Story()
    lost(story)
    story.crash()
    story.faults = [replace(fault, loses_storage=True) for fault in story.faults]
    assert broken(story) == set()
    assert story.judge()["lost"].explained.total() == 1


def test_a_message_of_a_lost_connection_may_go_on_before_its_client_notices() -> None:
    story = Story()
    story.connect("a")
    story.post("m", 5)
    story.receive("a", 5)
    story.end(5, "retried", reason="disconnected")
    story.receive("b", 5, attempt=2)
    story.now += 5
    story.lose("a")
    judgement = story.judge()
    assert judgement.holds
    assert judgement["double claims"].explained.total() == 1


def test_a_slow_reader_of_a_lost_connection_reads_on_what_came_before() -> None:
    story = Story()
    story.connect("a")
    for index in (5, 6):
        story.post(f"m{index}", index)
    story.receive("a", 5)
    sent = story.now
    story.end(5, "retried", reason="disconnected")
    story.end(6, "dead", reason="disconnected", assigned_at=sent)
    story.receive("b", 5, attempt=2)
    story.now += 5
    story.receive("a", 6)
    story.lose("a")
    judgement = story.judge()
    assert judgement["double claims"].explained.total() == 1
    assert not judgement["double claims"].broken


def test_a_client_whose_later_word_was_answered_had_not_lost_its_connection() -> None:
    story = Story()
    story.connect("a")
    story.post("m", 5)
    story.receive("a", 5)
    story.end(5, "retried", reason="disconnected")
    story.receive("b", 5, attempt=2)
    story.now += 5
    label = story.label()
    story.note("a", Kind.ASK, connection=1, label=label, verb="fetch", queue="work", count=1)
    story.note("a", Kind.NOTHING, connection=1, label=label)
    story.lose("a")
    assert broken(story) == {"double claims"}


def test_a_message_whose_time_is_over_may_go_on() -> None:
    story = Story()
    story.connect("a")
    story.post("m", 5)
    story.receive("a", 5)
    story.now += 31
    story.end(5, "retried", reason="timeout")
    story.receive("b", 5, attempt=2)
    assert story.judge()["double claims"].explained.total() == 0
    assert broken(story) == set()


def test_a_client_that_was_frozen_may_read_a_claim_that_is_over_while_another_holds_the_message() -> None:
    story = Story()
    story.connect("a")
    story.post("m", 5)
    sent = story.now
    story.now += 40
    story.end(5, "retried", reason="timeout", assigned_at=sent)
    story.receive("b", 5, attempt=2)
    story.receive("a", 5, attempt=1)
    story.now += 10
    story.finish("b", 5, attempt=2)
    assert broken(story) == set()


def test_a_confirmed_keepalive_prolongs_what_a_client_may_believe() -> None:
    story = Story()
    story.connect("a")
    story.post("m", 5)
    story.receive("a", 5)
    story.now += 20
    story.say("a", "keepalive", 5, stage="keepalive")
    story.now += 20
    story.end(5, "retried", reason="timeout")
    story.receive("b", 5, attempt=2)
    assert broken(story) == {"double claims"}


def test_what_a_killed_client_held_may_go_on_at_once() -> None:
    story = Story()
    story.connect("crowd1-a")
    story.post("m", 5)
    story.receive("crowd1-a", 5)
    story.note("crowd1", Kind.KILLED)
    story.end(5, "retried", reason="disconnected")
    story.receive("b", 5, attempt=2)
    assert story.judge()["double claims"].explained.total() == 0
    assert broken(story) == set()


def test_a_crash_explains_limits_only_around_it() -> None:
    story = Story()
    story.crash()
    story.now += 60
    too_many_of_a_queue(story)
    assert broken(story) == {"limits exceeded"}


def test_nodes_may_take_neighbours_in_another_order_at_the_same_time() -> None:
    story = Story()
    for index in (5, 6):
        story.post(f"m{index}", index)
    story.now += 10
    for index in (6, 5):
        story.receive("a", index)
    for index in (6, 5):
        story.say("a", "finish", index, stage="write")
        story.end(index, "finished")
    assert broken(story) == set()
