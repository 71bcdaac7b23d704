"""QueueTimers: one timer for each queue, and it ends with what is due first. On uvloop, as in the broker."""

import asyncio
from collections.abc import Coroutine

import uvloop

from delivery.wakeups.queue_timers import QueueTimers

LATER_SECONDS = 3600.0
SOON_SECONDS = 0.001
MOST_SECONDS = 10.0


class Due:
    """The queues whose timers have ended."""

    def __init__(self) -> None:
        self._queues: asyncio.Queue[int] = asyncio.Queue()
        self.timers = QueueTimers(self._queues.put_nowait)

    async def next(self) -> int:
        return await asyncio.wait_for(self._queues.get(), MOST_SECONDS)

    def no_more(self) -> bool:
        return self._queues.empty()


def run(test: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test)


def test_what_is_due_earlier_moves_the_timer() -> None:
    async def test() -> None:
        due = Due()
        due.timers.expect(1, LATER_SECONDS)
        due.timers.expect(1, SOON_SECONDS)
        assert await due.next() == 1

    run(test())


def test_what_is_due_later_leaves_the_timer() -> None:
    async def test() -> None:
        due = Due()
        due.timers.expect(1, SOON_SECONDS)
        due.timers.expect(1, LATER_SECONDS)
        assert await due.next() == 1

    run(test())


def test_what_is_due_at_once_may_be_expected_twice() -> None:
    async def test() -> None:
        due = Due()
        due.timers.expect(1, 0.0)
        due.timers.expect(1, 0.0)
        due.timers.expect(2, 0.0)
        assert [await due.next(), await due.next()] == [1, 2]
        assert due.no_more()

    run(test())


def test_a_timer_that_has_ended_can_be_set_again() -> None:
    async def test() -> None:
        due = Due()
        due.timers.expect(1, SOON_SECONDS)
        assert await due.next() == 1
        due.timers.expect(1, SOON_SECONDS)
        assert await due.next() == 1

    run(test())
