"""Waiters: who tries when, and when nobody may."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.engine.backlog import Backlog
from delivery.engine.demands import Demand
from delivery.engine.engine import LOOKS_AT_ONCE
from delivery.engine.limits import Limits
from delivery.engine.open_reads import OpenReads
from delivery.engine.waiters import AcrossAttempt, Attempt, Waiters
from delivery.protocol.errors import Code, WillowError
from queues.definitions import QueueRecord, QueueSettings

SETTINGS = QueueSettings(
    kind="work", retry_limit=3, heartbeat_timeout=300, retry_delay=0, retry_backoff=1, retry_delay_max=0
)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
QUEUE = QueueRecord(
    id=1, name="orders", tags=(), settings=SETTINGS, paused=False, defined_at=NEW_YEAR, changed_at=NEW_YEAR
)


class Reader:
    session_id = 1
    client_name = None
    is_crowded = takes_parts = False

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.failed: list[Code] = []
        self.when_taken: Callable[[Demand], None] = lambda demand: None

    def take(self, demand: Demand, messages: Sequence[Any]) -> None:
        self.taken += messages
        self.when_taken(demand)

    def went_empty(self, demand: Demand) -> None: ...

    def demand_failed(self, demand: Demand, error: WillowError) -> None:
        self.failed.append(error.code)


@pytest.fixture
def attempts() -> list[Attempt]:
    """Those that were made."""
    return []


@pytest.fixture
def waiters(attempts: list[Attempt]) -> Waiters:
    no_limits = Limits(lambda _: QUEUE, next_is_due=lambda _: None, places_are_free=lambda *_: None)
    reads = OpenReads(most=100)
    return Waiters(attempts.append, Backlog(), in_doubt=lambda session_id: None, limits=no_limits, reads=reads)


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def subscription(waiters: Waiters, reader: Reader) -> Demand:
    """Its first attempt is under way."""
    demand = Demand(reader, None, [QUEUE], places=3, waits=True, standing=True)
    waiters.add(demand)
    return demand


def test_what_comes_during_an_attempt_leads_to_another(
    waiters: Waiters, subscription: Demand, attempts: list[Attempt]
) -> None:
    waiters.wake(QUEUE.id, 1)
    attempts[0].settle(["m"])
    assert [attempt.demand for attempt in attempts] == [subscription] * 2


def test_a_node_that_stops_makes_no_further_attempt(
    waiters: Waiters, subscription: Demand, attempts: list[Attempt]
) -> None:
    waiters.wake(QUEUE.id, 1)
    waiters.paused = True
    attempts[0].settle(["m"])
    assert len(attempts) == 1
    assert not subscription.attempting


def test_a_place_that_comes_free_with_what_is_taken_leads_to_one_attempt(
    waiters: Waiters, subscription: Demand, reader: Reader, attempts: list[Attempt]
) -> None:
    """Two at a time would each fill all the places."""

    def place_is_free(demand: Demand) -> None:
        demand.places += 1
        waiters.refill(demand)

    reader.when_taken = place_is_free
    attempts[0].settle(["m"], more_may_wait=True)
    assert len(attempts) == 2


def test_a_crowded_reader_is_passed_over_until_it_goes_on(
    waiters: Waiters, attempts: list[Attempt], reader: Reader, subscription: Demand
) -> None:
    attempts.pop().settle(())
    reader.is_crowded = True
    waiters.wake(QUEUE.id, 5)
    assert not attempts
    assert not waiters.keep_places(QUEUE.id, 1, flushed=True)
    reader.is_crowded = False
    waiters.go_on(subscription)
    assert [attempt.demand for attempt in attempts] == [subscription]


def test_an_attempt_for_a_reader_that_became_crowded_takes_nothing_and_is_made_up_for(
    waiters: Waiters, attempts: list[Attempt], reader: Reader
) -> None:
    fetch = Demand(reader, None, [QUEUE], places=1)
    waiters.add(fetch)
    reader.is_crowded = True
    attempts[0].begin()
    assert attempts[0].places == 0
    reader.is_crowded = False
    waiters.go_on(fetch)
    attempts[0].settle(())
    assert len(attempts) == 2 and not fetch.ended


def test_places_weigh_so_that_many_large_fetches_are_not_one_statement(
    waiters: Waiters, attempts: list[Attempt], reader: Reader
) -> None:
    """A thousand fetches of 10,000 asked PostgreSQL for half a million places at once."""
    for places in (1, 16, 10_000):
        waiters.add(Demand(reader, None, [QUEUE], places=places))
    one, some, most = (attempt.weight for attempt in attempts)
    assert one == 0
    assert 0 < some < LOOKS_AT_ONCE / 32
    assert LOOKS_AT_ONCE / 8 <= most <= LOOKS_AT_ONCE


def test_a_reader_of_many_queues_looks_only_where_something_may_be(
    waiters: Waiters, attempts: list[AcrossAttempt], reader: Reader
) -> None:
    """A post to one of a thousand queues costs what a post to one of two does."""
    queues = [replace(QUEUE, id=number, tags=(str(number),)) for number in range(1, 1001)]
    demand = Demand(reader, None, queues, places=3, waits=True, standing=True)
    waiters.add(demand)
    [first] = attempts
    assert first.weight == 1000
    first.begin()
    waiters.wake(7, 1)  # while it looks: it may have missed this one
    first.settle([])
    second = attempts[1]
    second.begin()
    assert (second.looked_at, second.weight) == ({7}, 1)
    second.settle([Message(7)])
    waiters.refill(demand)
    assert len(attempts) == 2
    waiters.wake(9, 1)
    attempts[2].begin()
    assert attempts[2].looked_at == {9}


def test_queues_that_may_have_more_are_looked_into_again(
    waiters: Waiters, attempts: list[AcrossAttempt], reader: Reader
) -> None:
    demand = Demand(reader, None, [replace(QUEUE, id=1), replace(QUEUE, id=2)], places=1, waits=True, standing=True)
    waiters.add(demand)
    attempts[0].begin()
    attempts[0].settle([Message(2)])  # as many as it wanted
    demand.places += 1
    waiters.refill(demand)
    attempts[1].begin()
    assert attempts[1].looked_at == {1, 2}
    attempts[1].fail(WillowError(Code.UNAVAILABLE, "storage", "gone"))
    waiters.wake(1)
    attempts[2].begin()
    assert attempts[2].looked_at == {1, 2}


def test_a_fetch_that_may_not_go_on_waiting_is_told_why(
    waiters: Waiters, attempts: list[Attempt], reader: Reader
) -> None:
    for is_trying in (False, True):
        demand = Demand(reader, None, [QUEUE], places=1, waits=True)
        waiters.add(demand)
        attempts[-1].settle([])
        if is_trying:
            waiters.wake(QUEUE.id)
        waiters.refuse(demand, WillowError(Code.OVERLOADED, "readings", "too many"))
        if is_trying:
            assert not demand.ended
            attempts[-1].settle([])
        assert demand.ended
    assert reader.failed == [Code.OVERLOADED] * 2


def test_a_fetch_whose_time_is_over_while_the_database_goes_is_told(
    waiters: Waiters, attempts: list[Attempt], reader: Reader
) -> None:
    demand = Demand(reader, None, [QUEUE], places=1, waits=True)
    waiters.add(demand)
    attempts[0].settle([])
    waiters.wake(QUEUE.id)
    waiters.time_out(demand)
    attempts[1].fail(WillowError(Code.UNAVAILABLE, "storage", "gone"))
    assert demand.ended and reader.failed == [Code.UNAVAILABLE]


@dataclass
class Message:
    queue_id: int


async def test_what_has_ended_needs_no_collector(waiters: Waiters, reader: Reader) -> None:
    """A timer and a watch know the demand that knows them: many thousands of fetches a minute would leave cycles."""
    demand = Demand(reader, None, [QUEUE], places=1)
    watched = [demand]
    demand.when_ended = lambda: watched.clear() or watched.append(demand)  # type: ignore[func-returns-value]
    waiters.add(demand)
    waiters.wait_until_timeout(demand, 60)
    waiters.remove(demand)
    assert watched == [demand], "it was called"
    assert demand.timer is None
    assert demand.when_ended is None
