"""Backlog: what a node knows of a queue's messages without looking."""

import pytest

from delivery.engine.backlog import Backlog

QUEUE = 1


@pytest.fixture
def backlog() -> Backlog:
    """Somebody has just found the queue empty, after its tenth message."""
    backlog = Backlog()
    backlog.newest_is(QUEUE, 10)
    backlog.ran_dry(QUEUE, backlog.look_begins(QUEUE), [])
    return backlog


def test_a_queue_is_empty_only_after_somebody_looked() -> None:
    assert not Backlog().is_empty(QUEUE)
    assert not Backlog().is_enough_for_all(QUEUE, 1000)


def test_a_queue_that_ran_dry_is_empty(backlog: Backlog) -> None:
    assert backlog.is_empty(QUEUE)
    assert backlog.is_enough_for_all(QUEUE, 0)


def test_what_is_stored_waits_until_it_is_taken(backlog: Backlog) -> None:
    backlog.stored(QUEUE, 2)
    assert not backlog.is_empty(QUEUE)
    assert not backlog.is_enough_for_all(QUEUE, 1)
    assert backlog.is_enough_for_all(QUEUE, 2)
    backlog.taken(QUEUE, 2)
    assert backlog.is_empty(QUEUE)


def test_what_nobody_counted_makes_it_unknown(backlog: Backlog) -> None:
    backlog.something_came(QUEUE)
    assert not backlog.is_empty(QUEUE)
    assert not backlog.is_enough_for_all(QUEUE, 1000)


def test_a_look_does_not_tell_about_what_came_uncounted_meanwhile(backlog: Backlog) -> None:
    look = backlog.look_begins(QUEUE)
    backlog.something_came(QUEUE)
    backlog.ran_dry(QUEUE, look, [])
    assert not backlog.is_empty(QUEUE)


@pytest.mark.parametrize(("seen", "left"), [([], 1), ([11], 0), ([10, 11], 0)])
def test_of_what_was_stored_during_a_look_the_rest_is_left(backlog: Backlog, seen: list[int], left: int) -> None:
    look = backlog.look_begins(QUEUE)
    backlog.newest_is(QUEUE, 11)
    backlog.stored(QUEUE, 1)
    backlog.taken(QUEUE, len(seen))
    backlog.ran_dry(QUEUE, look, seen)
    assert backlog.is_enough_for_all(QUEUE, left)
    assert not backlog.is_enough_for_all(QUEUE, left - 1)


def test_a_look_may_see_a_message_before_its_node_hears_that_it_is_stored(backlog: Backlog) -> None:
    look = backlog.look_begins(QUEUE)
    backlog.taken(QUEUE, 1)
    backlog.ran_dry(QUEUE, look, [11])
    backlog.newest_is(QUEUE, 11)
    backlog.stored(QUEUE, 1)
    assert backlog.is_empty(QUEUE)


def test_what_is_taken_after_a_surprise_may_have_come_with_it(backlog: Backlog) -> None:
    """It has a new index and was never counted, so it must not count as taken of what is stored next."""
    backlog.something_came(QUEUE)
    look = backlog.look_begins(QUEUE)
    backlog.ran_dry(QUEUE, look, [11])
    backlog.newest_is(QUEUE, 12)
    backlog.stored(QUEUE, 1)
    assert not backlog.is_enough_for_all(QUEUE, 0)


def test_a_look_tells_nothing_about_a_queue_that_was_forgotten_meanwhile(backlog: Backlog) -> None:
    backlog.stored(QUEUE, 5)
    look = backlog.look_begins(QUEUE)
    backlog.forget(QUEUE)
    backlog.ran_dry(QUEUE, look, [])
    assert not backlog.is_enough_for_all(QUEUE, 0)


def test_of_a_queue_that_is_gone_nothing_is_kept(backlog: Backlog) -> None:
    backlog.stored(QUEUE, 1)
    backlog.something_came(QUEUE)
    backlog.newest_is(QUEUE, 11)
    backlog.forget(QUEUE)
    assert not any(QUEUE in kept for kept in vars(backlog).values() if isinstance(kept, dict))
