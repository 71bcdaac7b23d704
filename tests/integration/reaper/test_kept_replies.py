"""Replies that are kept take a bounded amount of space: those that would go next go early."""

import dataclasses
from collections.abc import AsyncIterator

import pytest
from django.conf import settings

from delivery.reaper.housekeeping import forget_excess_replies
from delivery.reaper.loop import Reaper
from delivery.storage.connection import connect
from delivery.storage.statement_connection import StatementConnection

KEEP = """
    INSERT INTO delivery_keptreply (queue_id, index, outcome, attempts, reply, until)
    SELECT 1, n, 'finished', 1, convert_to(repeat('x', 30000), 'UTF8'), now() + n * interval '1 minute'
    FROM generate_series(1, 5) AS n
"""


@pytest.fixture
async def connection(transactional_db: None) -> AsyncIterator[StatementConnection]:
    async with await connect(application="test") as connection:
        yield connection


async def test_those_that_would_go_next_go_when_all_take_too_much(
    connection: StatementConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "WILLOW", dataclasses.replace(settings.WILLOW, kept_reply_bytes=100_000))
    await connection.execute(KEEP)
    tools = Reaper().tools(connection)
    assert await forget_excess_replies(tools, None) == 2
    kept = await (await connection.execute("SELECT index FROM delivery_keptreply ORDER BY index")).fetchall()
    assert kept == [(3,), (4,), (5,)]
    assert await forget_excess_replies(tools, None) == 0
