"""The journal's days: made ahead, and dropped whole when they are old enough."""

from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from psycopg import sql

from delivery.reaper.duty import Tools
from delivery.storage.statements import statement

DAYS_AHEAD = 3


async def make_journal_days(tools: Tools, now: datetime | None) -> int:
    """Room for the next days' journal, before it is needed."""
    made = 0
    for ahead in range(DAYS_AHEAD + 1):
        day = _today(now) + timedelta(days=ahead)
        row = await (await tools.connection.execute("SELECT willow_journal_make_day(%s)", [day])).fetchone()
        made += bool(row and row[0])
    return made


async def drop_journal_days(tools: Tools, now: datetime | None) -> int:
    """Days of the journal that are older than they need to be."""
    oldest_kept = _today(now) - timedelta(days=settings.WILLOW.journal_retention_days)
    rows = await (await tools.connection.execute(statement("journal_days"))).fetchall()
    past = [(partition, day) for partition, day in rows if day < oldest_kept]
    if settings.WILLOW.keep_unarchived:
        past = [(partition, day) for partition, day in past if await _is_archived(tools, day)]
    for partition, _ in past:
        await tools.connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(partition)))
    return len(past)


async def _is_archived(tools: Tools, day: date) -> bool:
    """Whether the pipeline has compared the day with its archive, and no row has come since. An empty day is."""
    row = await (await tools.connection.execute(statement("journal_day_is_archived"), {"day": day})).fetchone()
    return bool(row and row[0])


def _today(now: datetime | None) -> date:
    return (now or datetime.now(UTC)).date()
