"""The journal, a page at a time, newest first."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.pages import Cursor, Page
from delivery.storage.statements import statement
from queues.integer_ranges import BIGINT_MAX

LIST = "journal"  # what its cursors are signed for
LOOKED_AT = 5000  # rows that one statement looks at
MOST_STATEMENTS = 10  # for one page
NEWEST: Cursor = (BIGINT_MAX, BIGINT_MAX)


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
    header: str | None = None  # the name of one that the message had

    @property
    def takes_all(self) -> bool:
        """Whether each row that is looked at is chosen."""
        conditions = (self.outcome, self.reason, self.client, self.ended_before, self.ended_after, self.header)
        return all(condition is None for condition in conditions)


def journal_page(*, chosen: JournalFilter, after: Cursor | None = None, limit: int = 100) -> Page[Any]:
    """A page may be short, and yet not the last, when few of many rows are chosen. There is no way back."""
    return operate(lambda connection: _page(connection, chosen, after or NEWEST, limit))


async def _page(connection: AsyncConnection[Any], chosen: JournalFilter, after: Cursor, limit: int) -> Page[Any]:
    """A cursor is the index of a row, or its transaction where no queue is chosen, and the row's number."""
    rows: list[Any] = []
    looked_at = limit if chosen.takes_all else LOOKED_AT
    for _ in range(MOST_STATEMENTS):
        parameters = asdict(chosen) | {
            "last_ordinal": after[0],
            "last_id": after[1],
            "looked_at": looked_at,
            "limit": limit - len(rows),
        }
        found = await fetch_rows(connection, statement("journal_page"), parameters)
        rows += [row for row in found if row.id is not None]
        if len(rows) >= limit:
            return Page(rows, None, (rows[-1].ordinal, rows[-1].id))
        if found[0].rows_looked_at < looked_at:
            return Page(rows, None, None)
        after = (found[0].reached_ordinal, found[0].reached_id)
    return Page(rows, None, after)
