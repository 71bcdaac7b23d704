"""A connection as the broker's lanes have one, and a queue."""

from collections.abc import AsyncIterator

import pytest
from psycopg.rows import dict_row

from delivery.storage.connection import connect
from delivery.storage.statement_connection import StatementConnection
from queues.definitions import QueueRecord, default_settings, definition_parameters, record_of
from queues.definitions import statement as queue_statement


@pytest.fixture
async def connection() -> AsyncIterator[StatementConnection]:
    connection = await connect(application="test")
    yield connection
    await connection.close()


@pytest.fixture
async def orders(connection: StatementConnection) -> QueueRecord:
    parameters = definition_parameters("orders", (), default_settings("orders"))
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(queue_statement("define"), parameters)
        row = await cursor.fetchone()
        assert row is not None
        return record_of(row)
