"""The lanes' connection: prepared statements that go the short way, beside everything that psycopg does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest

from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import connect, is_worth_another_try
from delivery.storage.prepared import StatementConnection

Lose = Callable[[StatementConnection], Awaitable[None]]

PAIRS = """
    SELECT number, word, %(same)s::text AS same, '100%%' AS percent
    FROM unnest(%(number)b::bigint[], %(word)b::text[]) AS t (number, word)
"""


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
    rows = await connection.rows(PAIRS, pairs((1, "a"), (None, None), (2**62, "ü")))
    assert rows == [(1, "a", "s", "100%"), (None, None, "s", "100%"), (2**62, "ü", "s", "100%")]
    assert (rows[0].number, rows[0].word, rows[0].percent) == (1, "a", "100%")
    assert await connection.rows(PAIRS, pairs()) == []


async def test_a_statement_is_prepared_once(connection: StatementConnection) -> None:
    for _ in range(3):
        await connection.rows(PAIRS, pairs((1, "a"), same=None))
    prepared = await connection.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'willow%%'")
    assert await prepared.fetchone() == (1,)


async def test_it_goes_on_after_a_statement_was_refused(connection: StatementConnection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await connection.rows("SELECT 1 / %(number)s::int AS one", {"number": 0})
    assert await connection.rows("SELECT 1 / %(number)s::int AS one", {"number": 1}) == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await connection.rows("SELECT * FROM there_is_no_such_table", {})
    assert await connection.rows(PAIRS, pairs((1, "a"))) == [(1, "a", "s", "100%")]


async def test_it_takes_part_in_transactions(connection: StatementConnection) -> None:
    async with connection.transaction(force_rollback=True):
        await connection.execute("CREATE TEMP TABLE kept (number bigint)")
        await connection.rows("INSERT INTO kept SELECT %(number)s RETURNING number", {"number": 7})
        assert await connection.rows("SELECT number FROM kept", {}) == [(7,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await connection.execute("SELECT number FROM kept")


async def test_a_connection_that_is_gone_is_an_error_and_not_a_wait(connection: StatementConnection) -> None:
    await connection.rows(PAIRS, pairs((1, "a")))
    async with await connect(application="killer") as killer:
        await killer.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        await connection.rows(PAIRS, pairs((1, "a")))
    assert connection.broken


async def test_a_statement_under_way_notices_that_the_server_went(connection: StatementConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        await connection.rows("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(%(seconds)s)", {"seconds": 30})


@pytest.mark.parametrize("way", ["rows", "execute"])
async def test_a_statement_that_is_called_off_ends_at_the_server_too(connection: StatementConnection, way: str) -> None:
    statement = asyncio.create_task(getattr(connection, way)("SELECT pg_sleep(%(seconds)s)", {"seconds": 600}))
    async with await connect(application="watcher") as watcher:
        under_way = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while not await (await watcher.execute(under_way, [connection.info.backend_pid])).fetchall():
            pass
    statement.cancel()
    with pytest.raises(asyncio.CancelledError):
        await statement
    assert await connection.rows(PAIRS, pairs((1, "a"))) == [(1, "a", "s", "100%")]


async def rolled_back(connection: StatementConnection) -> None:
    async with connection.transaction(force_rollback=True):
        await connection.execute("SELECT %(one)s::int", {"one": 1})  # something that psycopg prepared


async def deallocated(connection: StatementConnection) -> None:
    await connection.execute("DEALLOCATE ALL")


async def deallocated_unseen(connection: StatementConnection) -> None:
    """As a proxy between here and the server may do it."""
    connection.pgconn.exec_(b"DEALLOCATE ALL")


LOSSES = [rolled_back, deallocated, deallocated_unseen]


@pytest.mark.parametrize("lose", LOSSES)
async def test_what_was_prepared_and_lost_is_prepared_again(connection: StatementConnection, lose: Lose) -> None:
    for _ in range(2):
        await connection.rows(PAIRS, pairs((1, "a")))
        await connection.rows("SELECT 1 AS one", {})
        await lose(connection)
        assert await connection.rows(PAIRS, pairs((1, "a"))) == [(1, "a", "s", "100%")]
        assert await connection.rows("SELECT 1 AS one", {}) == [(1,)]


@pytest.mark.parametrize("lose", LOSSES)
async def test_a_transaction_that_met_the_loss_can_be_begun_again(connection: StatementConnection, lose: Lose) -> None:
    await connection.rows(PAIRS, pairs((1, "a")))
    await connection.execute("SELECT %(two)s::int", {"two": 2})
    await lose(connection)
    for attempt in range(2):
        try:
            async with connection.transaction():
                await connection.execute("SELECT %(two)s::int", {"two": 2})
                assert await connection.rows(PAIRS, pairs((1, "a"))) == [(1, "a", "s", "100%")]
        except psycopg.errors.InvalidSqlStatementName as error:
            assert is_worth_another_try(error)
            assert attempt == 0


async def test_what_psycopg_prepared_itself_is_prepared_again(connection: StatementConnection) -> None:
    await connection.execute("SELECT %(two)s::int", {"two": 2})
    await deallocated_unseen(connection)
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        await connection.execute("SELECT %(two)s::int", {"two": 2})
    await connection.execute("SELECT %(two)s::int", {"two": 2})


async def test_nothing_stays_of_a_rehearsal_but_what_was_prepared(connection: StatementConnection) -> None:
    async with connection.rehearsal():
        await connection.rows("SELECT set_config('application_name', 'rehearsed', false)", {})
    assert await connection.rows("SELECT current_setting('application_name') AS name", {}) == [("test",)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with connection.rehearsal():
            await connection.rows("SELECT 1 / 0", {})
    names = await connection.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'willow%' ORDER BY 1")
    assert await names.fetchall() == [("willow_0",), ("willow_1",), ("willow_2",)]
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
