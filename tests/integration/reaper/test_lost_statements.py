"""A reaper whose connection has lost what was prepared on it does its duties all the same."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg import AsyncConnection

from delivery.reaper.loop import DUTIES, Reaper
from delivery.storage.connection import connect

ERRORS = "SELECT duty, error FROM delivery_dutyrun WHERE error <> '' OR duty = 'fail expired claims'"


@pytest.fixture
async def connection(transactional_db: None) -> AsyncIterator[AsyncConnection[Any]]:
    async with await connect(application="test") as connection:
        yield connection


@pytest.mark.parametrize("command", [b"ROLLBACK", b"DEALLOCATE ALL"])
async def test_it_goes_on(connection: AsyncConnection[Any], command: bytes) -> None:
    await run_all_duties(connection)
    if command == b"ROLLBACK":
        async with connection.transaction(force_rollback=True):
            await connection.execute("SELECT %(one)s::int", {"one": 1})
    else:
        connection.pgconn.exec_(command)
    await run_all_duties(connection)
    assert await (await connection.execute(ERRORS)).fetchall() == [("fail expired claims", "")]


async def run_all_duties(connection: AsyncConnection[Any]) -> None:
    reaper = Reaper()
    await reaper.run_due(reaper.tools(connection))
    runs = await (await connection.execute("SELECT count(*) FROM delivery_dutyrun")).fetchone()
    assert runs == (len(DUTIES),)
