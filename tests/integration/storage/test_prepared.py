"""The lanes' connection: prepared statements that go the short way, beside everything that psycopg does."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import psycopg
import pytest

from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import connect
from delivery.storage.prepared import StatementConnection

PAIRS = """
    SELECT number, word, %(same)s::text AS same, '100%%' AS percent
    FROM unnest(%(number)b::bigint[], %(word)b::text[]) AS t (number, word)
"""


class Pair(NamedTuple):
    number: int | None
    word: str | None
    same: str | None
    percent: str


class One(NamedTuple):
    one: int


@pytest.fixture
async def connection(transactional_db: None) -> AsyncIterator[StatementConnection]:
    connection = await connect(application="test")
    yield connection
    await connection.close()


def pairs(*rows: tuple[int | None, str | None], same: str | None = "s") -> dict[str, object]:
    return {
        "number": BigintColumn([number for number, _ in rows]),
        "word": TextColumn([word for _, word in rows]),
        "same": same,
    }


async def test_columns_go_in_and_rows_come_out(connection: StatementConnection) -> None:
    rows = await connection.rows(PAIRS, pairs((1, "a"), (None, None), (2**62, "ü")), Pair)
    assert rows == [(1, "a", "s", "100%"), (None, None, "s", "100%"), (2**62, "ü", "s", "100%")]
    assert (rows[0].number, rows[0].word, rows[0].percent) == (1, "a", "100%")
    assert await connection.rows(PAIRS, pairs(), Pair) == []


async def test_rows_have_the_type_that_was_asked_for(connection: StatementConnection) -> None:
    [row] = await connection.rows(PAIRS, pairs((1, "a")), Pair)
    assert type(row) is Pair
    with pytest.raises(TypeError, match=r"One has the fields .*'one'.*returns .*'number', 'word', 'same', 'percent'"):
        await connection.rows(PAIRS, pairs((1, "a")), One)


async def test_a_statement_is_prepared_once(connection: StatementConnection) -> None:
    for _ in range(3):
        await connection.rows(PAIRS, pairs((1, "a"), same=None), Pair)
    prepared = await connection.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'willow%%'")
    assert await prepared.fetchone() == (1,)


async def test_it_goes_on_after_a_statement_was_refused(connection: StatementConnection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.rows("SELECT 1 / %(number)s::int AS one", {"number": 0}, One)
    assert await connection.rows("SELECT 1 / %(number)s::int AS one", {"number": 1}, One) == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await connection.rows("SELECT * FROM there_is_no_such_table", {}, One)
    assert await connection.rows(PAIRS, pairs((1, "a")), Pair) == [(1, "a", "s", "100%")]


async def test_it_takes_part_in_transactions(connection: StatementConnection) -> None:
    async with connection.transaction(force_rollback=True):
        await connection.execute("CREATE TEMP TABLE kept (number bigint)")
        await connection.rows("INSERT INTO kept SELECT %(one)s RETURNING number AS one", {"one": 7}, One)
        assert await connection.rows("SELECT number AS one FROM kept", {}, One) == [(7,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await connection.execute("SELECT number FROM kept")


async def test_a_connection_that_is_gone_is_an_error_and_not_a_wait(connection: StatementConnection) -> None:
    await connection.rows(PAIRS, pairs((1, "a")), Pair)
    async with await connect(application="killer") as killer:
        await killer.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        await connection.rows(PAIRS, pairs((1, "a")), Pair)
    assert connection.broken


async def test_a_statement_under_way_notices_that_the_server_went(connection: StatementConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        await connection.rows(
            "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(%(seconds)s)", {"seconds": 30}, One
        )


@pytest.mark.parametrize("way", ["rows", "execute"])
async def test_a_statement_that_is_called_off_ends_at_the_server_too(connection: StatementConnection, way: str) -> None:
    statement = asyncio.create_task(
        connection.rows("SELECT pg_sleep(%(seconds)s)", {"seconds": 600}, One)
        if way == "rows"
        else connection.execute("SELECT pg_sleep(%(seconds)s)", {"seconds": 600})
    )
    async with await connect(application="watcher") as watcher:
        under_way = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while not await (await watcher.execute(under_way, [connection.info.backend_pid])).fetchall():
            pass
    statement.cancel()
    with pytest.raises(asyncio.CancelledError):
        await statement
    assert await connection.rows(PAIRS, pairs((1, "a")), Pair) == [(1, "a", "s", "100%")]
