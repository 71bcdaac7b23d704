"""Messages that wait: they come due, are made ready by an operator, or get another priority or body."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.message_id import MessageId, id_columns
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement

COMING_DUE = "make delayed messages ready"  # the duty of the reaper to which it counts, whoever did it


class CameDue(NamedTuple):
    queue_id: int


class Changed(NamedTuple):
    """A message that an operator's action reached. `place`: which of those that were named, from 1 on."""

    place: int
    queue_id: int


async def come_due(
    connection: AsyncConnection[Any],
    *,
    limit: int,
    queue_ids: Sequence[int] | None = None,
    now: datetime | None = None,
) -> Counter[int]:
    """By queue: how many delayed messages are ready now, in these queues or in all. `limit` is for each queue."""
    queues = None if queue_ids is None else list(queue_ids)
    parameters = {"queue_id": queues, "now": now, "limit": limit}
    return Counter(row.queue_id for row in await fetch_batch(connection, statement("come_due"), parameters, CameDue))


async def retry_now(connection: AsyncConnection[Any], ids: Sequence[MessageId]) -> list[Changed]:
    """Delayed messages are ready before their time."""
    return await fetch_batch(connection, statement("retry_now"), id_columns(ids), Changed)


async def reprioritise(connection: AsyncConnection[Any], ids: Sequence[MessageId], priority: int) -> list[Changed]:
    parameters = id_columns(ids) | {"priority": priority}
    return await fetch_batch(connection, statement("reprioritise"), parameters, Changed)


async def rewrite(connection: AsyncConnection[Any], one: MessageId, *, body: bytes, priority: int) -> bool:
    """Whether the message still waited; then it has another body and priority."""
    parameters = {
        "queue_id": one.queue_id,
        "sequence": one.sequence,
        "index": one.index,
        "body": body,
        "priority": priority,
    }
    return bool(await fetch_batch(connection, statement("rewrite"), parameters, Changed))
