"""A connection for statements that run over and over, by psycopg's documented means."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString, NamedTuple, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

Row = TypeVar("Row", bound=NamedTuple)


class Statement(NamedTuple):
    """What is to be run, with which values, and what its rows are."""

    query: LiteralString
    values: Mapping[str, Any]
    row_type: type[Any]


class StatementConnection(AsyncConnection[Any]):
    """What the lanes need of a connection. No two statements may be under way on it: each lane has its own."""

    stirred: Callable[[], None] | None = None  # to be told when something comes that nobody asked for, if it can be
    sends_much = False  # with a statement: megabytes, which are better packed and sent by a thread

    async def rows(self, query: str, values: Mapping[str, Any], row_type: type[Row]) -> list[Row]:
        """The rows of a statement, whose columns are the fields of `row_type`."""
        async with self.cursor(row_factory=tuple_row, binary=True) as cursor:
            await cursor.execute(query, values)
            check_columns(tuple(column.name for column in cursor.description or ()), row_type)
            return [row_type._make(row) for row in await cursor.fetchall()]

    async def rows_of_all(self, statements: Sequence[Statement]) -> list[list[Any]]:
        """The rows of statements that make up a transaction. None of them needs to know what another one returns."""
        async with self.transaction():
            return [await self.rows(*one) for one in statements]

    @asynccontextmanager
    async def short_transaction(self, first: str = "") -> AsyncIterator[None]:
        """A transaction that begins with these statements, without values."""
        async with self.transaction():
            if first:
                await self.execute(first, prepare=False)
            yield

    @asynccontextmanager
    async def rehearsal(self) -> AsyncIterator[None]:
        """A transaction of which nothing stays."""
        async with self.transaction(force_rollback=True):
            yield


def check_columns(names: tuple[str, ...], row_type: type[NamedTuple]) -> None:
    if names != row_type._fields:
        raise TypeError(f"{row_type.__name__} has the fields {row_type._fields}, and the statement returns {names}.")
