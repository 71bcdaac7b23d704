"""Each due time is posted once, however many reapers run and wherever they are killed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection as django_connection
from psycopg import AsyncConnection, OperationalError

from delivery.schedules import runs
from delivery.schedules.runs import KEPT_RUNS, post_due
from delivery.schedules.watch import AWAY_SECONDS, begin_watch, seconds_to_next, watch_clock
from delivery.storage.connection import connect
from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
NEW = """INSERT INTO delivery_schedule (name, queue, tags, message, headers, cron, every, anchor_at, next_due_at,
                                        missed, unique_key)
         VALUES (%s, %s, '{}', 'm', '{"a": "b"}', %s, %s, %s, %s, %s, %s)"""
DUE = "SELECT q.name, m.headers ->> 'willow-due' FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id"


def new_schedule(name: str, *, missed: str = "skip", unique: str | None = None, cron: str | None = None) -> None:
    """Due every second from noon on."""
    every = None if cron else 1
    first = NOON + timedelta(seconds=1) if cron is None else NOON
    with django_connection.cursor() as cursor:
        cursor.execute(NEW, [name, f"q-{name}", cron, every, NOON, first, missed, unique])


async def posted(database: AsyncConnection[Any]) -> Counter[tuple[str, str]]:
    return Counter(await (await database.execute(DUE)).fetchall())


def due(name: str, *seconds: int) -> Counter[tuple[str, str]]:
    return Counter(
        (f"q-{name}", (NOON + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")) for number in seconds
    )


async def work_off(database: AsyncConnection[Any], now: datetime) -> None:
    while True:
        async with database.transaction():
            if await post_due(database, now, by="reaper") is None:
                return
        await asyncio.sleep(0)


@pytest.fixture
def schedules(transactional_db: None) -> None:
    for name in "abcde":
        new_schedule(name)


@pytest.fixture
async def database(transactional_db: None) -> AsyncIterator[AsyncConnection[Any]]:
    async with await connect(application="test") as database:
        yield database


async def test_by_many_reapers_at_once(schedules: None, database: AsyncConnection[Any]) -> None:
    reapers = [await connect(application=f"reaper {number}") for number in range(4)]
    for seconds in (3, 4, 250):  # the last: more than one transaction takes of a schedule
        now = NOON + timedelta(seconds=seconds, milliseconds=100)
        await asyncio.gather(*(work_off(reaper, now) for reaper in reapers))
        await work_off(database, now)  # what one reaper had locked, the others may have passed over
    for reaper in reapers:
        await reaper.close()
    assert await posted(database) == sum((due(name, *range(1, 251)) for name in "abcde"), Counter())


async def has_gone(database: AsyncConnection[Any], session: int) -> None:
    """Until the server has noticed: what a session has locked is passed over, and left to the next round."""
    async with asyncio.timeout(PATIENCE):
        while await (await database.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [session])).fetchall():
            await asyncio.sleep(LOOK_SECONDS)


STATEMENTS = ("due_schedules", "runs_known", "record_runs", "step_schedules")


@pytest.mark.parametrize("fatal", [*STATEMENTS, "commit"])
async def test_by_another_reaper_when_one_is_killed(
    schedules: None, database: AsyncConnection[Any], monkeypatch: pytest.MonkeyPatch, fatal: str
) -> None:
    """At each statement: the server loses its client before it."""
    now = NOON + timedelta(seconds=3)
    dying = await connect(application="dying")
    its_session = dying.info.backend_pid

    def statement(name: str) -> str:
        if name == fatal:
            dying.pgconn.finish()
        return known(name)

    known = runs.statement
    with monkeypatch.context() as patch, pytest.raises(OperationalError):
        patch.setattr(runs, "statement", statement)
        async with dying.transaction():
            await post_due(dying, now, by="dying")
            dying.pgconn.finish()
            await dying.execute("SELECT 1")
    await has_gone(database, its_session)
    await work_off(database, now)
    assert await posted(database) == sum((due(name, 1, 2, 3) for name in "abcde"), Counter())


@pytest.fixture
def three_ways(transactional_db: None) -> None:
    for missed in ("skip", "one", "all"):
        new_schedule(missed, missed=missed)


async def test_what_was_missed(three_ways: None, database: AsyncConnection[Any]) -> None:
    """A reaper that comes after another went, and then one that comes after nobody was there."""
    await begin_watch(database, NOON)
    await work_off(database, NOON + timedelta(seconds=2))
    await watch_clock(database, NOON + timedelta(seconds=3, milliseconds=500))
    short = NOON + timedelta(seconds=3.5 + AWAY_SECONDS)
    await begin_watch(database, short)
    await work_off(database, short)
    every = [1, 2, 3, 4, 5, 6]
    assert await posted(database) == due("skip", *every) + due("one", *every) + due("all", *every)
    await begin_watch(database, short + timedelta(seconds=AWAY_SECONDS + 1))
    await work_off(database, NOON + timedelta(seconds=12))
    assert await posted(database) == (
        due("skip", *every, 11, 12) + due("one", *every, 10, 11, 12) + due("all", *every, 7, 8, 9, 10, 11, 12)
    )


@pytest.fixture
def unique(transactional_db: None) -> None:
    new_schedule("u", unique="only one")


async def test_with_a_unique_text_one_lives_at_a_time(unique: None, database: AsyncConnection[Any]) -> None:
    await work_off(database, NOON + timedelta(seconds=3))
    assert await posted(database) == due("u", 1)
    rows = await (await database.execute("SELECT duplicate, index FROM delivery_schedulerun ORDER BY id")).fetchall()
    assert rows == [(False, 1), (True, 1), (True, 1)]


@pytest.fixture
def broken(transactional_db: None) -> None:
    new_schedule("a")
    new_schedule("b", cron="* * * * *")
    with django_connection.cursor() as cursor:
        cursor.execute("UPDATE delivery_schedule SET time_zone = 'Mars/Base' WHERE name = 'b'")


async def test_a_plan_that_cannot_be_read_holds_up_no_other(broken: None, database: AsyncConnection[Any]) -> None:
    await work_off(database, NOON + timedelta(seconds=2))
    assert await posted(database) == due("a", 1, 2)
    rows = await (await database.execute("SELECT error FROM delivery_schedulerun WHERE error <> ''")).fetchall()
    assert len(rows) == 1 and "Mars/Base" in rows[0][0]


async def test_the_last_runs_are_kept_and_the_next_is_known(schedules: None, database: AsyncConnection[Any]) -> None:
    now = NOON + timedelta(seconds=KEPT_RUNS + 50)
    assert await seconds_to_next(database, NOON) == 1.0
    await work_off(database, now)
    [(fewest, most)] = await (
        await database.execute(
            "SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM delivery_schedulerun GROUP BY schedule_id)"
        )
    ).fetchall()
    assert (fewest, most) == (KEPT_RUNS, KEPT_RUNS)
    assert await seconds_to_next(database, now) == 1.0
