"""Old days of the journal go; if so configured, only after the pipeline has archived and compared them."""

import dataclasses
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection

from delivery.reaper.journal import drop_journal_days
from delivery.reaper.loop import Reaper

TODAY = datetime.now(UTC).date()
OLD, OLDER, EMPTY = (TODAY - timedelta(days=days) for days in (40, 41, 42))


@pytest.fixture
def old_days(transactional_db: None) -> None:
    with connection.cursor() as cursor:
        for day in (OLD, OLDER, EMPTY):
            cursor.execute("SELECT willow_journal_make_day(%s)", [day])
        for day in (OLD, OLDER):
            write(day)


def write(day: date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, attempt, priority,
                                             posted_at, ended_at, size)
               VALUES (1, 'orders', '{}', 1, 'finished', 1, 0, %s, %s, 0)""",
            [day, day],
        )


def compared(day: date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO willow_archive_days (day, rows, checksum, verified_tx)
               VALUES (%s, 1, 0, pg_snapshot_xmax(pg_current_snapshot())::text::bigint)""",
            [day],
        )


async def dropped(settings: Any, *, keep_unarchived: bool) -> set[date]:
    settings.WILLOW = dataclasses.replace(django_settings.WILLOW, keep_unarchived=keep_unarchived)
    parameters = connection.get_connection_params()
    wanted = ("host", "port", "user", "password", "dbname")
    connecting = {name: parameters[name] for name in wanted if name in parameters}
    async with await psycopg.AsyncConnection.connect(**connecting, autocommit=True) as database:
        await drop_journal_days(Reaper().tools(database), None)
        rows = await (await database.execute("SELECT relname FROM pg_class WHERE relkind = 'r'")).fetchall()
    left = {name for (name,) in rows}
    return {day for day in (OLD, OLDER, EMPTY) if f"delivery_journal_{day:%Y%m%d}" not in left}


@pytest.mark.usefixtures("old_days")
class TestOldDays:
    async def test_go_when_nobody_asked_to_keep_them(self, settings: Any) -> None:
        assert await dropped(settings, keep_unarchived=False) == {OLD, OLDER, EMPTY}

    async def test_stay_until_they_are_compared(self, settings: Any) -> None:
        assert await dropped(settings, keep_unarchived=True) == {EMPTY}

    @pytest.fixture
    def one_compared(self, old_days: None) -> None:
        compared(OLD)

    async def test_go_once_they_are_compared(self, settings: Any, one_compared: None) -> None:
        assert await dropped(settings, keep_unarchived=True) == {OLD, EMPTY}

    @pytest.fixture
    def late_row(self, one_compared: None) -> None:
        write(OLD)

    async def test_stay_if_a_row_came_after_the_comparison(self, settings: Any, late_row: None) -> None:
        assert await dropped(settings, keep_unarchived=True) == {EMPTY}
