"""Burying: messages that ran out of attempts or of time go to the dead letter queues of their queues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from delivery.moves.posting import Copy, NobodyPosts, PostRequest, insert_copies
from delivery.protocol.commands import Post
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from queues.definitions import QueueRecord, dead_letter_name, default_settings, definition_parameters, record_of
from queues.definitions import statement as queue_statement
from queues.integer_ranges import BIGINT_MAX


class Dying(Protocol):
    """A message that the caller's transaction has locked."""

    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...

    @property
    def index(self) -> int: ...


class Cause(Protocol):
    """What ended a message. Without a client or an error, those of its last attempt."""

    @property
    def client(self) -> str | None: ...

    @property
    def reason(self) -> str: ...

    @property
    def error(self) -> str | None: ...


class BuriedRow(NamedTuple):
    queue_id: int
    queue_name: str
    queue_tags: list[str]
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    attempts: int
    priority: int
    body: bytes
    reason: str
    error: str | None
    client: str | None
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int
    headers: dict[str, str] | None
    group_key: str | None
    unique_key: str | None
    poster_key: int | None


class Buried:
    """A message on its way to the dead letter queue: the row it was and the copy it becomes."""

    def __init__(self, row: BuriedRow, dead_letter_queue: QueueRecord) -> None:
        self.row = row
        command = Post(
            queues=(dead_letter_queue.name,),
            message=row.body,
            priority=row.priority,
            group=row.group_key,
            unique=row.unique_key,
        )
        self.copy = PostRequest(NobodyPosts(), command, [dead_letter_queue], headers=row.headers).copies[0]


@dataclass(frozen=True, slots=True)
class Death:
    """What a dead letter keeps of its life before."""

    origin_queue_id: int | None
    origin_index: int | None
    origin_attempts: int | None
    reason: str | None
    error: str | None
    client: str | None
    poster_key: int | None = None  # if the dead letter does not name it yet


async def bury(
    connection: AsyncConnection[Any],
    dying: Sequence[tuple[Dying, Cause]],
    *,
    node_id: int | None,
    node_name: str,
) -> list[Buried]:
    """Move messages, locked by the caller's transaction, to their dead letter queues."""
    if not dying:
        return []
    columns = {
        "queue_id": BigintColumn([row.queue_id for row, _ in dying]),
        "index": BigintColumn([row.index for row, _ in dying]),
        "client": TextColumn([cause.client for _, cause in dying]),
        "reason": TextColumn([cause.reason for _, cause in dying]),
        "error": TextColumn([cause.error for _, cause in dying]),
        "node": node_id,
        "node_name": node_name,
    }
    rows = await fetch_batch(connection, statement("bury"), columns, BuriedRow)
    origins = {row.queue_id: row for row in rows}
    targets = {queue_id: await _dead_letter_queue(connection, row) for queue_id, row in origins.items()}
    buried = [Buried(row, targets[row.queue_id]) for row in rows]
    await insert_copies(connection, [one.copy for one in buried], node_id)
    await mark_dead(connection, [(one.copy, _death_of(one.row)) for one in buried])
    return buried


def _death_of(row: BuriedRow) -> Death:
    return Death(row.queue_id, row.index, row.attempts, row.reason, row.error, row.client, row.poster_key)


async def mark_dead(connection: AsyncConnection[Any], dead: Sequence[tuple[Copy, Death]]) -> None:
    """Write on dead letters that were just stored where they came from."""
    copies, deaths = [copy for copy, _ in dead], [death for _, death in dead]
    columns = {
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "index": BigintColumn([copy.index for copy in copies]),
        "origin_queue_id": BigintColumn([death.origin_queue_id for death in deaths]),
        "origin_index": BigintColumn([death.origin_index for death in deaths]),
        "origin_attempts": BigintColumn([death.origin_attempts for death in deaths]),
        "reason": TextColumn([death.reason for death in deaths]),
        "error": TextColumn([death.error for death in deaths]),
        "client": TextColumn([death.client for death in deaths]),
        "poster_key": BigintColumn([death.poster_key for death in deaths]),
    }
    await connection.execute(statement("mark_dead"), columns)


async def _dead_letter_queue(connection: AsyncConnection[Any], row: BuriedRow) -> QueueRecord:
    """The dead letter queue of a message's queue, made if this is its first dead letter.

    However many queues there are: the bound on those that clients make must not stop a message from dying.
    """
    name = dead_letter_name(row.queue_name)
    parameters = definition_parameters(name, row.queue_tags, default_settings(name)) | {"most_queues": BIGINT_MAX}
    async with connection.cursor(row_factory=dict_row, binary=True) as cursor:
        while True:
            await cursor.execute(queue_statement("define"), parameters)
            if (found := await cursor.fetchone()) is not None:
                return record_of(found)
