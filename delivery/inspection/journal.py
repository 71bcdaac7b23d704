"""The journal, a page at a time, newest first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.protocol.fields import BIGINT_MAX
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement

LOOKED_AT = 5000  # rows that one statement looks at
MOST_LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalFilter:
    """Without a queue: the whole journal, in the order in which transactions wrote it."""

    queue_id: int | None = None
    index: int | None = None  # only with a queue
    outcome: str | None = None
    reason: str | None = None
    client: str | None = None
    ended_before: datetime | None = None
    ended_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Where a page ended: an index or a transaction, and a row."""

    place: int = BIGINT_MAX
    id: int = BIGINT_MAX


@dataclass(frozen=True, slots=True)
class JournalPage:
    rows: list[Any]
    next: JournalPlace | None


def journal_page(*, chosen: JournalFilter, place: JournalPlace | None = None, limit: int = 100) -> JournalPage:
    """A page may be short, and yet not the last, when few of many rows are chosen."""
    return operate(lambda connection: _page(connection, chosen, place or JournalPlace(), limit))


async def _page(
    connection: AsyncConnection[Any], chosen: JournalFilter, place: JournalPlace, limit: int
) -> JournalPage:
    rows: list[Any] = []
    for _ in range(MOST_LOOKS):
        parameters = {name: getattr(chosen, name) for name in chosen.__slots__} | {
            "place": place.place,
            "id": place.id,
            "looked_at": LOOKED_AT,
            "limit": limit - len(rows),
        }
        found = await fetch_rows(connection, statement("journal_page"), parameters)
        matching = [row for row in found if row.id is not None]
        rows += matching
        if len(rows) >= limit:
            return JournalPage(rows, JournalPlace(rows[-1].place, rows[-1].id))
        if found[0].rows_looked_at < LOOKED_AT:
            return JournalPage(rows, None)
        place = JournalPlace(found[0].last_place, found[0].last_id)
    return JournalPage(rows, place)
