"""Messages that are dropped: by an operator, to make room in a full queue, or because a stream keeps no more."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.message_id import MessageId, id_columns
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement


class Dropped(NamedTuple):
    """What an operator dropped. `place`: which of those that were named, from 1 on."""

    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    holder: int | None
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int


class DroppedForRoom(NamedTuple):
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int


class Removed(NamedTuple):
    messages: int


async def drop(
    connection: AsyncConnection[Any], ids: Sequence[MessageId], *, by: str, forced: bool = False
) -> list[Dropped]:
    """`forced`: also what somebody holds. `by`: what the journal calls who did it."""
    parameters = id_columns(ids) | {"forced": forced, "node": None, "node_name": by}
    return await fetch_batch(connection, statement("drop"), parameters, Dropped)


async def drop_oldest(
    connection: AsyncConnection[Any], excess: Mapping[int, int], *, node_id: int | None, node_name: str
) -> list[DroppedForRoom]:
    """By queue: so many of the oldest that nobody holds."""
    columns = {
        "queue_id": BigintColumn(list(excess)),
        "messages": BigintColumn(list(excess.values())),
        "node": node_id,
        "node_name": node_name,
    }
    return await fetch_batch(connection, statement("drop_oldest"), columns, DroppedForRoom)


async def retain_streams(connection: AsyncConnection[Any], *, limit: int, by: str, now: datetime | None = None) -> int:
    """How many messages streams no longer keep. Of each stream the oldest `limit` are looked at."""
    parameters = {"now": now, "limit": limit, "node": None, "node_name": by}
    [removed] = await fetch_batch(connection, statement("retain_streams"), parameters, Removed)
    return removed.messages
