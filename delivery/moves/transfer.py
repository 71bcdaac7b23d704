"""Messages change queues: posted to the one and taken out of the other, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.admission import Admission
from delivery.moves.message_id import MessageId, id_columns
from delivery.moves.posting import Copy, NobodyPosts, PostRequest
from delivery.protocol.commands import Post
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from queues.definitions import QueueRecord

SOONEST = 0.001  # seconds: what remains of a delay or a time to live is never quite nothing


class Unclaimed(NamedTuple):
    """A message that nobody holds, whole. `place`: which of those that were named, from 1 on."""

    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    priority: int
    attempts: int
    key: str | None
    body: bytes
    poster: int | None
    poster_key: int | None
    poster_node: int | None
    label: int | None
    notify: int
    origin_queue_id: int | None
    origin_index: int | None
    origin_attempts: int | None
    dead_reason: str | None
    last_error: str | None
    last_client: str | None
    headers: dict[str, str] | None
    group_key: str | None
    unique_key: str | None
    delay: float | None  # seconds that are left of it; likewise of the time to live
    ttl: float | None


@dataclass(slots=True)
class Transfer:
    """What became of the messages: `moved` with their new place, `refused` with the reason."""

    moved: list[tuple[Unclaimed, Copy]] = field(default_factory=list)
    refused: list[tuple[Unclaimed, str]] = field(default_factory=list)
    left_notices: bool = False  # for posters whose messages had to make room


async def lock_unclaimed(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], *, untouched: bool = False
) -> list[Unclaimed]:
    """Of these messages those that nobody holds, whole; others cannot take them until the transaction ends."""
    parameters = id_columns(ids) | {"untouched": untouched}
    return await fetch_batch(connection, statement("lock_unclaimed"), parameters, Unclaimed)


async def transfer(
    connection: AsyncConnection[Any], rows: Sequence[Unclaimed], target: QueueRecord, *, by: str, afresh: bool = False
) -> Transfer:
    """Move messages, locked by the caller's transaction, to the end of a queue, as far as that has room for them.

    Their posters still hear of them. `afresh`: without what is left of their delay and their time to live.
    """
    requests = [PostRequest(NobodyPosts(), _post(row, target, afresh), [target], headers=row.headers) for row in rows]
    copies = [request.copies[0] for request in requests]
    admission = Admission(connection, requests, None, by, decides_groups=False)
    await admission.admit()
    result = Transfer(left_notices=bool(admission.dropped))
    for row, request, copy in zip(rows, requests, copies, strict=True):
        if (error := admission.refused.get(request)) is not None:
            result.refused.append((row, error.message))
        elif copy.is_repeat:
            result.refused.append((row, f"a message with its unique text lives in {target.name} already"))
        else:
            result.moved.append((row, copy))
    await _take_out(connection, result.moved, by)
    await _keep_posters(connection, result.moved)
    return result


def _post(row: Unclaimed, target: QueueRecord, afresh: bool) -> Post:
    delay, ttl = (None, None) if afresh else (row.delay, row.ttl)
    return Post(
        queues=(target.name,),
        message=row.body,
        priority=row.priority,
        key=row.key,
        delay=None if delay is None else max(SOONEST, delay),
        ttl=None if ttl is None else max(SOONEST, ttl),
        group=row.group_key,
        unique=row.unique_key,
    )


async def _take_out(connection: AsyncConnection[Any], moved: Sequence[tuple[Unclaimed, Copy]], by: str) -> None:
    rows = [row for row, _ in moved]
    columns = {
        "queue_id": BigintColumn([row.queue_id for row in rows]),
        "index": BigintColumn([row.index for row in rows]),
        "error": TextColumn([f"moved to {copy.queue.name}, index {copy.index}" for _, copy in moved]),
        "node": None,
        "node_name": by,
    }
    await connection.execute(statement("take_out"), columns)


async def _keep_posters(connection: AsyncConnection[Any], moved: Sequence[tuple[Unclaimed, Copy]]) -> None:
    posted = [(row, copy) for row, copy in moved if (row.poster, row.poster_key) != (None, None)]
    if not posted:
        return
    columns = {
        "queue_id": BigintColumn([copy.queue.id for _, copy in posted]),
        "index": BigintColumn([copy.index for _, copy in posted]),
        "poster": BigintColumn([row.poster for row, _ in posted]),
        "poster_key": BigintColumn([row.poster_key for row, _ in posted]),
        "poster_node": BigintColumn([row.poster_node for row, _ in posted]),
        "label": BigintColumn([row.label for row, _ in posted]),
        "notify": BigintColumn([row.notify for row, _ in posted]),
    }
    await connection.execute(statement("mark_moved"), columns)
