"""Delayed messages of this node become ready on time. The reaper does it for nodes that are gone."""

import asyncio
from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.waiting import come_due
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import Job, Lane
from delivery.storage.statements import statement

MOST_AT_ONCE = 1000


class Delays:
    """One timer per queue, set to the earliest delay that this node knows of."""

    def __init__(self, jobs: Lane, became_ready: Callable[[int], None]) -> None:
        self._jobs = jobs
        self._became_ready = became_ready
        self._timers: dict[int, tuple[float, asyncio.Handle]] = {}  # with when they are due, by the loop's clock

    def expect(self, queue_id: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if queue_id in self._timers:
            due_before, timer = self._timers[queue_id]
            if due_before <= due:
                return
            timer.cancel()
        # uvloop makes a plain handle of what is due at once, which cannot say when.
        self._timers[queue_id] = due, loop.call_later(seconds, self._come_due, queue_id)

    def _come_due(self, queue_id: int) -> None:
        del self._timers[queue_id]

        async def work(connection: AsyncConnection[Any]) -> float | None:
            await come_due(connection, queue_ids=[queue_id], limit=MOST_AT_ONCE)
            row = await (await connection.execute(statement("next_due"), {"queue_id": queue_id})).fetchone()
            return row[0] if row else None

        def done(next_seconds: float | None) -> None:
            self._became_ready(queue_id)  # also if the reaper was faster: its hint may be lost
            if next_seconds is not None:
                self.expect(queue_id, max(0.0, next_seconds))

        self._jobs.submit(Job(work, done, _leave_it_to_the_reaper))


def _leave_it_to_the_reaper(error: WillowError) -> None:
    """The database is gone for now. When it is back, the reaper finds what came due meanwhile."""
