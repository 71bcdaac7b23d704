"""Posters take back messages that nobody holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.protocol.errors import Code, WillowError
from delivery.storage.after_commit import guarded
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement


@dataclass(slots=True, eq=False, kw_only=True)
class CancelRequest:
    """`done` is called with the sequence that the message had, or `refused`."""

    queue_id: int
    index: int
    session: int  # that asks
    key: int | None  # with which it is connected
    done: Callable[[int], None]
    refused: Callable[[WillowError], None]
    synchronous: bool = False

    @property
    def source(self) -> int:
        return self.session

    @property
    def weight(self) -> int:
        return 0

    def fail(self, error: WillowError) -> None:
        self.refused(error)


class Cancelled(NamedTuple):
    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name


async def cancel(
    connection: AsyncConnection[Any], requests: Sequence[CancelRequest], *, node_id: int, node_name: str
) -> list[Cancelled]:
    columns = {
        "queue_id": BigintColumn([request.queue_id for request in requests]),
        "index": BigintColumn([request.index for request in requests]),
        "session": BigintColumn([request.session for request in requests]),
        "key": BigintColumn([request.key for request in requests]),
        "node": node_id,
        "node_name": node_name,
    }
    return await fetch_batch(connection, statement("cancel"), columns, Cancelled)


def answer_cancels(requests: Sequence[CancelRequest], cancelled: Sequence[Cancelled]) -> None:
    ended = {row.place: row.sequence for row in cancelled}
    for place, request in enumerate(requests, 1):
        if place in ended:
            guarded(request.done, ended[place])
        else:
            guarded(request.refused, not_cancellable(request.queue_id, request.index))


def not_cancellable(queue_id: int, index: int) -> WillowError:
    reason = f"No message of yours with the index {index} waits in the queue {queue_id}."
    return WillowError(Code.NO_OBJECT, f"{queue_id}/{index}", reason)
