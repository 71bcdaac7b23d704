"""Claims that may have been made although nobody was told: the connection broke while they were under way.

Their readers got nothing and would hold such messages until the lease ends. So they are looked for and given back.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.engine.demands import NO_SESSION
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

if TYPE_CHECKING:
    from delivery.sessions.session import Session

# A claim that was made after the connection came back takes less than this to reach its reader.
ON_THE_WAY_SECONDS = 2.0


class UnheardClaims:
    """`ended` is told of sessions that are gone: whatever they hold must be given up."""

    def __init__(self, sessions: Mapping[int, "Session"], ended: Callable[[int], None]) -> None:
        self._sessions = sessions
        self._ended = ended
        self._since: dict[int, float] = {}  # by session, of the monotonic clock

    def __bool__(self) -> bool:
        return bool(self._since)

    def add(self, session_id: int) -> None:
        if session_id != NO_SESSION:  # a claim over HTTP ends with its lease, whoever did not hear of it
            self._since[session_id] = time.monotonic()

    async def settle(self, connection: AsyncConnection[Any]) -> None:
        now = time.monotonic()
        due = [session_id for session_id, since in self._since.items() if now - since >= ON_THE_WAY_SECONDS]
        here = [session_id for session_id in due if session_id in self._sessions]
        rows = await fetch_rows(
            connection, statement("doubtful_claims"), {"holder": here, "seconds": ON_THE_WAY_SECONDS}
        )
        for session_id in due:
            if self._since[session_id] > now:  # it happened again meanwhile
                continue
            del self._since[session_id]
            session = self._sessions.get(session_id)
            if session is None:
                self._ended(session_id)
            else:
                session.claims.give_back_unsent(_of(session_id, rows))


def _of(session_id: int, rows: Iterable[Any]) -> list[Any]:
    return [row for row in rows if row.holder == session_id]
