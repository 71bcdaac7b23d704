"""Delayed messages of this node become ready on time. The reaper does it for nodes that are gone."""

from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.waiting import COMING_DUE, come_due
from delivery.protocol.errors import WillowError
from delivery.storage.lanes import Job, Lane
from delivery.storage.statements import statement
from delivery.wakeups.queue_timers import QueueTimers

MOST_AT_ONCE = 1000


class Delays:
    """For each queue, the earliest end of a delay that this node knows of."""

    def __init__(self, jobs: Lane, became_ready: Callable[[int], None]) -> None:
        self._jobs = jobs
        self._became_ready = became_ready
        self._timers = QueueTimers(self._come_due)
        self._uncounted = 0  # messages that this node made ready, and has not written down

    def expect(self, queue_id: int, seconds: float) -> None:
        self._timers.expect(queue_id, seconds)

    def _come_due(self, queue_id: int) -> None:
        async def work(connection: AsyncConnection[Any]) -> tuple[int, float | None]:
            ready = await come_due(connection, queue_ids=[queue_id], limit=MOST_AT_ONCE)
            row = await (await connection.execute(statement("next_due"), {"queue_id": queue_id})).fetchone()
            return ready.total(), row[0] if row else None

        def done(result: tuple[int, float | None]) -> None:
            messages, next_seconds = result
            self._uncounted += messages
            self._became_ready(queue_id)  # also if the reaper was faster: its hint may be lost
            if next_seconds is not None:
                self.expect(queue_id, max(0.0, next_seconds))

        self._jobs.submit(Job(work, done, _leave_it_to_the_reaper))

    async def count(self, connection: AsyncConnection[Any]) -> None:
        """Write down how many came due here. Without a reaper yet there is no row, and they are kept for later."""
        messages = self._uncounted
        if messages:
            cursor = await connection.execute(statement("count_come_due"), {"duty": COMING_DUE, "messages": messages})
            if cursor.rowcount:
                self._uncounted -= messages


def _leave_it_to_the_reaper(error: WillowError) -> None:
    """The database is gone for now. When it is back, the reaper finds what came due meanwhile."""
