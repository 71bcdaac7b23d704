"""Telling posters what became of their messages, wherever they are connected now.

A poster on this node is told at once. For one on another node the statement that moved the message left a row in
`delivery_pendingnotice` in the same transaction; its own node takes it from there, so no notice and no reply is lost
with a hint.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from psycopg import AsyncConnection

from delivery.arrays import BigintColumn, ByteaColumn, TextColumn
from delivery.protocol.fields import Stage
from delivery.protocol.frames import Notice
from delivery.stages import NAMED_SEVERAL, STAGE_NUMBERS, STAGES, label_from_column, label_to_column
from delivery.statements import statement


class Listener(Protocol):
    def send(self, frame: Notice) -> None: ...


class Move(Protocol):
    """The columns that statements return about a message that moved."""

    queue_id: int
    sequence: int
    index: int
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int


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
        self.left_behind: list[tuple[int, Notice]] = []  # for posters that left this node since they posted
        self._left_elsewhere = left_elsewhere

    def tell(self, move: Move, stage: Stage, reply: bytes | None = None) -> None:
        if not move.notify & (1 << STAGE_NUMBERS[stage]) or move.poster is None:
            return
        if move.poster_node != self._node_id:
            self._left_elsewhere()
            return
        queue = self._queue_name(move.queue_id) if move.notify & NAMED_SEVERAL else None
        notice = Notice(label_from_column(move.label), stage, move.queue_id, move.sequence, move.index, queue, reply)
        listener = self._listener_of(move.poster)
        if listener is not None:
            listener.send(notice)
        else:
            self.left_behind.append((move.poster, notice))

    async def leave(self, connection: AsyncConnection[Any]) -> None:
        """Write down the notices for posters that left, for the node where they are now."""
        leaving = list(self.left_behind)
        notices = [notice for _, notice in leaving]
        columns = {
            "session_id": BigintColumn([session_id for session_id, _ in leaving]),
            "stage": BigintColumn([STAGE_NUMBERS[notice.notice] for notice in notices]),
            "label": BigintColumn([label_to_column(notice.label) for notice in notices]),
            "queue_id": BigintColumn([notice.shard for notice in notices]),
            "queue_name": TextColumn([notice.queue for notice in notices]),
            "sequence": BigintColumn([notice.sequence for notice in notices]),
            "index": BigintColumn([notice.index for notice in notices]),
            "reply": ByteaColumn([notice.reply for notice in notices]),
        }
        await connection.execute(statement("leave_notices"), columns)
        del self.left_behind[: len(leaving)]  # not before: the storage may have gone

    async def take(self, connection: AsyncConnection[Any]) -> None:
        """Hand out the notices that other nodes and the reaper left for sessions of this node."""
        cursor = await connection.execute(statement("take_notices"), {"node": self._node_id}, binary=True)
        rows: Sequence[Any] = await cursor.fetchall()
        for session_id, stage, label, queue_id, queue_name, sequence, index, reply in rows:
            notice = Notice(label_from_column(label), STAGES[stage], queue_id, sequence, index, queue_name, reply)
            listener = self._listener_of(session_id)
            if listener is not None:
                listener.send(notice)
            else:
                self.left_behind.append((session_id, notice))
