"""A connection for statements that run over and over, by psycopg's documented means."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row


class StatementConnection(AsyncConnection[Any]):
    """What the lanes need of a connection. No two statements may be under way on it: each lane has its own."""

    stirred: Callable[[], None] | None = None  # to be told when something comes that nobody asked for, if it can be

    async def rows(self, query: str, values: Mapping[str, Any]) -> list[Any]:
        """The rows of a statement, with its columns as attributes."""
        async with self.cursor(row_factory=namedtuple_row, binary=True) as cursor:
            await cursor.execute(query, values)
            return await cursor.fetchall()

    @asynccontextmanager
    async def rehearsal(self) -> AsyncIterator[None]:
        """A transaction of which nothing stays."""
        async with self.transaction(force_rollback=True):
            yield
