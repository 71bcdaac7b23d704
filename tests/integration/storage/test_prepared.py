"""The lanes' connection: prepared statements that go the short way, beside everything that psycopg does."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import psycopg
import pytest
from django.conf import settings

from delivery.storage.advisory_locks import take, taking
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import connect, is_worth_another_try
from delivery.storage.psycopg_internals.short_way import ShortWayConnection
from delivery.storage.statement_connection import Statement, StatementConnection
from tests.support.cluster import PATIENCE

Lose = Callable[[StatementConnection], Awaitable[None]]

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


class Name(NamedTuple):
    name: str


@pytest.fixture
async def connection(transactional_db: None) -> AsyncIterator[ShortWayConnection]:
    async with await connect(application="test") as connection:
        assert isinstance(connection, ShortWayConnection)
        yield connection


@pytest.fixture(params=["short way", "plain psycopg"])
async def either(
    request: pytest.FixtureRequest, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StatementConnection]:
    """What must hold with psycopg as it is, too."""
    plain = request.param == "plain psycopg"
    monkeypatch.setattr(settings, "WILLOW", dataclasses.replace(settings.WILLOW, plain_psycopg=plain))
    async with await connect(application="test") as connection:
        assert isinstance(connection, ShortWayConnection) is not plain
        yield connection


def pairs(*rows: tuple[int | None, str | None], same: str | None = "s") -> dict[str, object]:
    return {
        "number": BigintColumn([number for number, _ in rows]),
        "word": TextColumn([word for _, word in rows]),
        "same": same,
    }


async def test_columns_go_in_and_rows_come_out(either: StatementConnection) -> None:
    rows = await either.rows(PAIRS, pairs((1, "a"), (None, None), (2**62, "ü")), Pair)
    assert rows == [(1, "a", "s", "100%"), (None, None, "s", "100%"), (2**62, "ü", "s", "100%")]
    assert (rows[0].number, rows[0].word, rows[0].percent) == (1, "a", "100%")
    assert await either.rows(PAIRS, pairs(), Pair) == []


async def test_rows_have_the_type_that_was_asked_for(either: StatementConnection) -> None:
    [row] = await either.rows(PAIRS, pairs((1, "a")), Pair)
    assert type(row) is Pair
    with pytest.raises(TypeError, match=r"One has the fields .*'one'.*returns .*'number', 'word', 'same', 'percent'"):
        await either.rows(PAIRS, pairs((1, "a")), One)


async def test_a_statement_is_prepared_once(connection: StatementConnection) -> None:
    for _ in range(3):
        await connection.rows(PAIRS, pairs((1, "a"), same=None), Pair)
    prepared = await connection.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'willow%%'")
    assert await prepared.fetchone() == (1,)


async def test_it_goes_on_after_a_statement_was_refused(either: StatementConnection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await either.rows("SELECT 1 / %(number)s::int AS one", {"number": 0}, One)
    assert await either.rows("SELECT 1 / %(number)s::int AS one", {"number": 1}, One) == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await either.rows("SELECT * FROM there_is_no_such_table", {}, One)
    assert await either.rows(PAIRS, pairs((1, "a")), Pair) == [(1, "a", "s", "100%")]


async def test_it_takes_part_in_transactions(either: StatementConnection) -> None:
    async with either.transaction(force_rollback=True):
        await either.execute("CREATE TEMP TABLE kept (number bigint)")
        await either.rows("INSERT INTO kept SELECT %(one)s RETURNING number AS one", {"one": 7}, One)
        assert await either.rows("SELECT number AS one FROM kept", {}, One) == [(7,)]
    with pytest.raises(psycopg.errors.UndefinedTable):
        await either.execute("SELECT number FROM kept")


async def test_a_connection_that_is_gone_is_an_error_and_not_a_wait(either: StatementConnection) -> None:
    await either.rows(PAIRS, pairs((1, "a")), Pair)
    async with await connect(application="killer") as killer:
        await killer.execute("SELECT pg_terminate_backend(%s)", [either.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        await either.rows(PAIRS, pairs((1, "a")), Pair)
    assert either.broken


async def test_a_statement_under_way_notices_that_the_server_went(either: StatementConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        await either.rows("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(%(seconds)s)", {"seconds": 30}, One)


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
        await connection.rows(PAIRS, pairs((1, "a")), Pair)
        await connection.rows("SELECT 1 AS one", {}, One)
        await lose(connection)
        assert await connection.rows(PAIRS, pairs((1, "a")), Pair) == [(1, "a", "s", "100%")]
        assert await connection.rows("SELECT 1 AS one", {}, One) == [(1,)]


@pytest.mark.parametrize("lose", LOSSES)
async def test_a_transaction_that_met_the_loss_can_be_begun_again(connection: StatementConnection, lose: Lose) -> None:
    await connection.rows(PAIRS, pairs((1, "a")), Pair)
    await connection.execute("SELECT %(two)s::int", {"two": 2})
    await lose(connection)
    for attempt in range(2):
        try:
            async with connection.transaction():
                await connection.execute("SELECT %(two)s::int", {"two": 2})
                assert await connection.rows(PAIRS, pairs((1, "a")), Pair) == [(1, "a", "s", "100%")]
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
        await connection.rows("SELECT set_config('application_name', 'rehearsed', false) AS name", {}, Name)
    assert await connection.rows("SELECT current_setting('application_name') AS name", {}, Name) == [("test",)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with connection.rehearsal():
            await connection.rows("SELECT 1 / 0", {}, One)
    names = await connection.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'willow%' ORDER BY 1")
    assert await names.fetchall() == [("willow_0",), ("willow_1",), ("willow_2",)]
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


async def test_nobody_is_told_of_answers_that_were_asked_for(connection: ShortWayConnection) -> None:
    told: list[None] = []
    connection.stirred = lambda: told.append(None)
    for _ in range(20):
        await connection.rows("SELECT 1 AS one", {}, One)
        await asyncio.sleep(0)
    assert not told
    async with await connect(application="killer") as killer:
        await killer.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
    async with asyncio.timeout(PATIENCE):
        while not told:
            await asyncio.sleep(0.01)


# several statements in one go

KEEP = "INSERT INTO kept SELECT %(one)s::bigint RETURNING number AS one"
KEPT = "SELECT number AS one FROM kept ORDER BY number"


def keeping(*numbers: int) -> list[Statement]:
    return [Statement(KEEP, {"one": number}, One) for number in numbers]


@pytest.fixture
async def keeper(either: StatementConnection) -> StatementConnection:
    await either.execute("CREATE TEMP TABLE kept (number bigint UNIQUE)")
    return either


async def test_statements_in_one_go_are_one_transaction(keeper: StatementConnection) -> None:
    *kept, seen = await keeper.rows_of_all([*keeping(1, 2), Statement(KEPT, {}, One)])
    assert (kept, seen) == ([[(1,)], [(2,)]], [(1,), (2,)])
    with pytest.raises(psycopg.errors.UniqueViolation):
        await keeper.rows_of_all(keeping(3, 1, 4))
    assert await keeper.rows(KEPT, {}, One) == [(1,), (2,)]
    assert keeper.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    async with keeper.rehearsal():
        await keeper.rows_of_all(keeping(5, 6))
    assert await keeper.rows_of_all([Statement(KEPT, {}, One)]) == [[(1,), (2,)]]


async def test_what_follows_a_lock_sees_all_that_its_last_holder_did(keeper: StatementConnection) -> None:
    newest = Statement("SELECT count(*)::int AS one FROM delivery_touchedgroup", {}, One)
    async with await connect(application="holder") as holder:
        async with holder.transaction():
            await take(holder, [(1, 2)])
            waiting = asyncio.create_task(keeper.rows_of_all([taking([(1, 2)]), newest]))
            waits = "SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted"
            while not await (await holder.execute(waits, [keeper.info.backend_pid])).fetchall():
                await asyncio.sleep(0)
            await holder.execute("INSERT INTO delivery_touchedgroup (queue_id, group_key) VALUES (1, 'g')")
        assert (await waiting)[1] == [(1,)]
        await take(holder, [(1, 2)])  # nobody has it any more


@pytest.mark.parametrize("lose", LOSSES)
async def test_what_one_go_needs_is_prepared_again(connection: StatementConnection, lose: Lose) -> None:
    both = [Statement(PAIRS, pairs((1, "a")), Pair), Statement("SELECT 1 AS one", {}, One)]
    for _ in range(2):
        assert await connection.rows_of_all(both) == [[(1, "a", "s", "100%")], [(1,)]]
        await lose(connection)


async def test_one_go_that_is_called_off_leaves_nothing_behind(connection: StatementConnection) -> None:
    await connection.execute("CREATE TEMP TABLE kept (number bigint UNIQUE)")
    sleeping = Statement("SELECT 1 AS one FROM pg_sleep(600)", {}, One)
    under_way = asyncio.create_task(connection.rows_of_all([*keeping(1), sleeping, *keeping(2)]))
    async with await connect(application="watcher") as watcher:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while not await (await watcher.execute(asleep, [connection.info.backend_pid])).fetchall():
            pass
    under_way.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under_way
    assert await connection.rows(KEPT, {}, One) == []


async def test_one_go_notices_that_the_server_went(either: StatementConnection) -> None:
    ending = Statement("SELECT pg_terminate_backend(pg_backend_pid())::int AS one, pg_sleep(30)", {}, One)
    with pytest.raises(psycopg.OperationalError):
        await either.rows_of_all([ending, Statement("SELECT 1 AS one", {}, One)])
    assert either.broken
