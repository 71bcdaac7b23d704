"""A client came back and gets what it holds again: some of it may have been lost with its last socket."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from delivery.protocol.errors import WillowError
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Job
from delivery.storage.statements import statement
from delivery.storage.vocabulary import MOST_TAKEN_BYTES

if TYPE_CHECKING:
    from delivery.sessions.session import Session
    from delivery.sessions.subscription import Subscription

Held = tuple[Any, "Subscription | None"]  # a row of held_messages.sql, and through whom the client reads its queue


class Resending:
    """What one session holds is read and sent in slices, no faster than its client reads them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._left: deque[Held] = deque()
        self._begins: list[Callable[[], None]] = []
        self._is_reading = False

    def add(self, held: Iterable[Held], begin: Callable[[], None]) -> None:
        """`begin` is called once, before the first slice of it is sent: what the client reads anew comes after that."""
        self._left.extend(held)
        self._begins.append(begin)
        self.go_on()
        if not self._is_reading:
            self._begin()

    def _begin(self) -> None:
        begins, self._begins = self._begins, []
        for begin in begins:
            begin()

    def go_on(self) -> None:
        session = self._session
        if self._is_reading or not self._left or session.closed or session.is_crowded:
            return
        self._is_reading = True
        part = self._next_slice()
        read = partial(_read, session.session_id, [row for row, _ in part])
        session.node.jobs.submit(Job(read, partial(self._send, part), partial(self._try_later, part)))

    def _next_slice(self) -> list[Held]:
        part: list[Held] = []
        left_bytes = MOST_TAKEN_BYTES
        while self._left and left_bytes > 0:
            part.append(self._left.popleft())
            left_bytes -= part[-1][0].bytes
        return part

    def _send(self, part: Sequence[Held], rows: Sequence[Any]) -> None:
        self._is_reading = False
        self._begin()
        if self._session.closed:
            return
        claims = self._session.claims
        still_held = {(row.queue_id, row.index): row for row in rows}
        not_sent = {(row.queue_id, row.index) for row in claims.not_sent_here(rows)}
        for held, subscription in part:
            message = (held.queue_id, held.index)
            if message not in still_held:
                claims.let_go((held.queue_id, held.sequence), held.index)
            elif message in not_sent:
                resend = partial(claims.hand_over_again, None) if subscription is None else subscription.send_again
                resend(still_held[message])
        self.go_on()

    def _try_later(self, part: Sequence[Held], error: WillowError) -> None:
        """The storage is gone: the poll goes on with it."""
        self._is_reading = False
        self._begin()
        self._left.extendleft(reversed(part))


async def _read(session_id: int, held: Sequence[Any], connection: AsyncConnection[Any]) -> list[Any]:
    values = {
        "queue_id": BigintColumn([row.queue_id for row in held]),
        "index": BigintColumn([row.index for row in held]),
        "holder": session_id,
    }
    return await fetch_rows(connection, statement("read_held"), values)
