"""Telling posters what became of their messages, wherever they are connected now.

A poster on this node is told at once. For one on another node the statement that moved the message left a row in
`delivery_pendingnotice` in the same transaction; its own node takes it from there, so no notice and no reply is lost
with a hint.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from psycopg import AsyncConnection

from delivery.moves.notify import label_from_column
from delivery.moves.service_names import request_identifier, service_of
from delivery.protocol.errors import Code
from delivery.protocol.fields import Stage
from delivery.protocol.frames import Error, Frame, Notice, WorkReplyOut
from delivery.storage.after_commit import for_each
from delivery.storage.columns import BigintColumn, ByteaColumn, TextColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement
from delivery.storage.vocabulary import (
    NAMED_SEVERAL,
    REQUEST,
    REQUEST_FAILED,
    REQUEST_TIMED_OUT,
    STAGE_NUMBERS,
    STAGES,
    Reason,
)


class Listener(Protocol):
    def send(self, frame: Frame) -> None: ...


class Moved(Protocol):
    """The columns that statements return about a message that moved."""

    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...

    @property
    def index(self) -> int: ...

    @property
    def poster(self) -> int | None: ...

    @property
    def poster_node(self) -> int | None: ...

    @property
    def label(self) -> int | None: ...

    @property
    def notify(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Happening:
    """What a poster is to be told, as a row of `delivery_pendingnotice` keeps it."""

    session_id: int
    stage: Stage
    label: int | None  # signed, as in its column
    queue_id: int
    queue_name: str | None  # where the poster must know it
    sequence: int
    index: int
    reply: bytes | None
    notify: int

    def frame(self) -> Frame:
        """A notice, unless the poster is a frontend: that gets its reply, or hears that there will be none."""
        label = label_from_column(self.label)
        if not self.notify & REQUEST:
            return Notice(label, self.stage, self.queue_id, self.sequence, self.index, self.queue_name, self.reply)
        if self.stage == "finish":
            return WorkReplyOut(label, request_identifier(self), self.reply or b"")
        return self._no_reply(label, service_of(self.queue_name or ""))

    def _no_reply(self, label: int | None, service: str) -> Error:
        why = (self.reply or b"").decode()
        if why == REQUEST_TIMED_OUT:
            return Error(label, Code.UNAVAILABLE, "timeout", f"No worker of {service} answered this request in time.")
        if why.startswith(REQUEST_FAILED):
            text = why.removeprefix(REQUEST_FAILED)
            return Error(label, Code.FAILED, service, text or f"A worker of {service} failed without saying why.")
        return Error(label, Code.UNAVAILABLE, service, f"No worker of {service} could answer this request.")


class Unanswered(Protocol):
    """A message that ended without a client, perhaps a request."""

    @property
    def notify(self) -> int: ...

    @property
    def reason(self) -> str: ...

    @property
    def error(self) -> str | None: ...


def why_unanswered(ended: Unanswered) -> bytes | None:
    """Of a request: what _drop_noticed.sql says in the place of its reply."""
    if not ended.notify & REQUEST:
        return None
    if ended.reason == Reason.EXPIRED:
        return REQUEST_TIMED_OUT.encode()
    return None if ended.error is None else f"{REQUEST_FAILED}{ended.error}".encode()


AnyMoved = TypeVar("AnyMoved", bound=Moved)


def no_reply(moved: Moved) -> None: ...


class Notices:
    """The notices of one node.

    `listener_of` finds a session of this node by its number; `left_elsewhere` is told when a statement left a notice
    for another node.
    """

    def __init__(
        self,
        *,
        node_id: int | None,
        listener_of: Callable[[int | None], Listener | None],
        queue_name: Callable[[int], str],
        left_elsewhere: Callable[[], None],
    ) -> None:
        self._node_id = node_id
        self._listener_of = listener_of
        self._queue_name = queue_name
        self._left_elsewhere = left_elsewhere
        self.left_behind: list[Happening] = []  # for posters that left this node since they posted

    def tell_each(
        self, moved: Iterable[AnyMoved], stage: Stage, reply_to: Callable[[AnyMoved], bytes | None] = no_reply
    ) -> None:
        """After a commit: the posters of all these, whatever becomes of the others."""
        bit = 1 << STAGE_NUMBERS[stage]
        for_each(lambda one: self.tell(one, stage, reply_to(one)), [one for one in moved if one.notify & bit])

    def tell(self, moved: Moved, stage: Stage, reply: bytes | None = None) -> None:
        if not moved.notify & (1 << STAGE_NUMBERS[stage]) or moved.poster is None:
            return
        if moved.poster_node != self._node_id:
            self._left_elsewhere()
            return
        name = self._queue_name(moved.queue_id) if moved.notify & (NAMED_SEVERAL | REQUEST) else None
        self._hand_out(
            Happening(
                session_id=moved.poster,
                stage=stage,
                label=moved.label,
                queue_id=moved.queue_id,
                queue_name=name,
                sequence=moved.sequence,
                index=moved.index,
                reply=reply,
                notify=moved.notify,
            )
        )

    def _hand_out(self, happening: Happening) -> None:
        listener = self._listener_of(happening.session_id)
        if listener is not None:
            listener.send(happening.frame())
        else:
            self.left_behind.append(happening)

    async def leave(self, connection: AsyncConnection[Any]) -> None:
        """Write down the notices for posters that left, for the node where they are now."""
        leaving = list(self.left_behind)
        columns = {
            "session_id": BigintColumn([happening.session_id for happening in leaving]),
            "stage": BigintColumn([STAGE_NUMBERS[happening.stage] for happening in leaving]),
            "label": BigintColumn([happening.label for happening in leaving]),
            "queue_id": BigintColumn([happening.queue_id for happening in leaving]),
            "queue_name": TextColumn([happening.queue_name for happening in leaving]),
            "sequence": BigintColumn([happening.sequence for happening in leaving]),
            "index": BigintColumn([happening.index for happening in leaving]),
            "reply": ByteaColumn([happening.reply for happening in leaving]),
            "notify": BigintColumn([happening.notify for happening in leaving]),
        }
        await connection.execute(statement("leave_notices"), columns)
        del self.left_behind[: len(leaving)]  # not before: the storage may have gone

    async def take(self, connection: AsyncConnection[Any]) -> None:
        """Hand out the notices that other nodes and the reaper left for sessions of this node."""
        for row in await fetch_rows(connection, statement("take_notices"), {"node": self._node_id}):
            self._hand_out(Happening(**row._asdict() | {"stage": STAGES[row.stage]}))
