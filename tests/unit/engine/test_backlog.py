"""Stock: what a node knows of a queue's messages without looking."""

import pytest

from delivery.engine.backlog import Stock

QUEUE = 1


@pytest.fixture
def stock() -> Stock:
    """Somebody has just found the queue empty, after its tenth message."""
    stock = Stock()
    stock.newest_is(QUEUE, 10)
    stock.ran_dry(QUEUE, stock.look_begins(QUEUE), [])
    return stock


def test_a_queue_is_empty_only_after_somebody_looked() -> None:
    assert not Stock().is_empty(QUEUE)
    assert not Stock().is_enough_for_all(QUEUE, 1000)


def test_a_queue_that_ran_dry_is_empty(stock: Stock) -> None:
    assert stock.is_empty(QUEUE)
    assert stock.is_enough_for_all(QUEUE, 0)


def test_what_is_stored_waits_until_it_is_taken(stock: Stock) -> None:
    stock.stored(QUEUE, 2)
    assert not stock.is_empty(QUEUE)
    assert not stock.is_enough_for_all(QUEUE, 1)
    assert stock.is_enough_for_all(QUEUE, 2)
    stock.taken(QUEUE, 2)
    assert stock.is_empty(QUEUE)


def test_what_nobody_counted_makes_it_unknown(stock: Stock) -> None:
    stock.something_came(QUEUE)
    assert not stock.is_empty(QUEUE)
    assert not stock.is_enough_for_all(QUEUE, 1000)


def test_a_look_does_not_tell_about_what_came_uncounted_meanwhile(stock: Stock) -> None:
    look = stock.look_begins(QUEUE)
    stock.something_came(QUEUE)
    stock.ran_dry(QUEUE, look, [])
    assert not stock.is_empty(QUEUE)


@pytest.mark.parametrize(("seen", "left"), [([], 1), ([11], 0), ([10, 11], 0)])
def test_of_what_was_stored_during_a_look_the_rest_is_left(stock: Stock, seen: list[int], left: int) -> None:
    look = stock.look_begins(QUEUE)
    stock.newest_is(QUEUE, 11)
    stock.stored(QUEUE, 1)
    stock.taken(QUEUE, len(seen))
    stock.ran_dry(QUEUE, look, seen)
    assert stock.is_enough_for_all(QUEUE, left)
    assert not stock.is_enough_for_all(QUEUE, left - 1)


def test_a_look_may_see_a_message_before_its_node_hears_that_it_is_stored(stock: Stock) -> None:
    look = stock.look_begins(QUEUE)
    stock.taken(QUEUE, 1)
    stock.ran_dry(QUEUE, look, [11])
    stock.newest_is(QUEUE, 11)
    stock.stored(QUEUE, 1)
    assert stock.is_empty(QUEUE)


def test_what_is_taken_after_a_surprise_may_have_come_with_it(stock: Stock) -> None:
    """It has a new index and was never counted, so it must not count as taken of what is stored next."""
    stock.something_came(QUEUE)
    look = stock.look_begins(QUEUE)
    stock.ran_dry(QUEUE, look, [11])
    stock.newest_is(QUEUE, 12)
    stock.stored(QUEUE, 1)
    assert not stock.is_enough_for_all(QUEUE, 0)


def test_a_look_tells_nothing_about_a_queue_that_was_forgotten_meanwhile(stock: Stock) -> None:
    stock.stored(QUEUE, 5)
    look = stock.look_begins(QUEUE)
    stock.forget(QUEUE)
    stock.ran_dry(QUEUE, look, [])
    assert not stock.is_enough_for_all(QUEUE, 0)


def test_of_a_queue_that_is_gone_nothing_is_kept(stock: Stock) -> None:
    stock.stored(QUEUE, 1)
    stock.something_came(QUEUE)
    stock.newest_is(QUEUE, 11)
    stock.forget(QUEUE)
    assert not any(QUEUE in kept for kept in vars(stock).values() if isinstance(kept, dict))
