"""Requests whose time is over end when it is, for frontends that wait; the reaper sees to what this node misses."""

from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.dead_letters import Buried, bury
from delivery.moves.states import Reason
from delivery.protocol.errors import WillowError
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Job, Lane
from delivery.storage.statements import statement
from delivery.wakeups.queue_timers import QueueTimers

MOST_AT_ONCE = 1000
SHORTEST_PAUSE_SECONDS = 0.02  # before another look, while somebody else holds an expired message locked


class Expiry:
    """Why messages are buried here."""

    reason = Reason.EXPIRED.value
    client: str | None = None
    error: str | None = None


class Expiries:
    """For each queue, the earliest end of a request that this node knows of."""

    def __init__(self, jobs: Lane, *, node_id: int, node_name: str, announce: Callable[[list[Buried]], None]) -> None:
        self._jobs = jobs
        self._node_id = node_id
        self._node_name = node_name
        self._announce = announce
        self._timers = QueueTimers(self._expire)

    def expect(self, queue_id: int, seconds: float) -> None:
        self._timers.expect(queue_id, seconds)

    def _expire(self, queue_id: int) -> None:
        async def work(connection: AsyncConnection[Any]) -> tuple[list[Buried], float | None]:
            async with connection.transaction():
                parameters = {"queue_id": queue_id, "limit": MOST_AT_ONCE}
                rows = await fetch_rows(connection, statement("expired_of_queue"), parameters)
                dying = [(row, Expiry()) for row in rows]
                buried = await bury(connection, dying, node_id=self._node_id, node_name=self._node_name)
            found = await (await connection.execute(statement("next_expiry"), {"queue_id": queue_id})).fetchone()
            return buried, found[0] if found else None

        def done(result: tuple[list[Buried], float | None]) -> None:
            buried, next_seconds = result
            self._announce(buried)
            if next_seconds is not None:
                self.expect(queue_id, max(SHORTEST_PAUSE_SECONDS, next_seconds))

        self._jobs.submit(Job(work, done, _leave_it_to_the_reaper))


def _leave_it_to_the_reaper(error: WillowError) -> None:
    """The storage is gone for now; when it is back, the reaper finds what expired meanwhile."""
