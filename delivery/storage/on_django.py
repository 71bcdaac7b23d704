"""The delivery's own code, on Django's connection: what is written for the broker's connections runs here unchanged.

The broker's functions are coroutines over an asynchronous connection. `DjangoConnection` has the methods of one that
they use, and does everything at once on Django's connection, so a coroutine that waits for nothing else runs from its
beginning to its end without an event loop.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, LiteralString, Self, TypeVar, cast

import psycopg
from django.db import connection as django_connection
from django.db import transaction
from psycopg import AsyncConnection
from psycopg.pq import Format
from psycopg.rows import tuple_row

from delivery.storage.columns import register_columns
from delivery.storage.connection import PLANNER

STATEMENT_SECONDS = 10  # that one statement of an operator may take

Parameters = Mapping[str, Any] | Sequence[Any] | None
Result = TypeVar("Result")


class DjangoCursor:
    """What the delivery uses of an AsyncCursor."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    async def execute(self, query: LiteralString, parameters: Parameters = None) -> Self:
        with django_connection.wrap_database_errors:
            self._cursor.execute(query, parameters)
        return self

    async def fetchone(self) -> Any:
        return self._cursor.fetchone()

    async def fetchall(self) -> list[Any]:
        return self._cursor.fetchall()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._cursor.close()


class DjangoTransaction(AbstractAsyncContextManager[None]):
    def __init__(self) -> None:
        self._atomic = transaction.atomic()

    async def __aenter__(self) -> None:
        self._atomic.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._atomic.__exit__(kind, error, trace)


class DjangoConnection:
    """What the delivery uses of an AsyncConnection. Parameters are bound by the server, as on the broker's own."""

    def cursor(self, *, row_factory: Any = tuple_row, binary: bool = False) -> DjangoCursor:
        django_connection.ensure_connection()
        cursor = psycopg.Cursor(django_connection.connection, row_factory=row_factory)
        cursor.format = Format.BINARY if binary else Format.TEXT
        register_columns(cursor)
        return DjangoCursor(cursor)

    async def execute(
        self, query: LiteralString, parameters: Parameters = None, *, binary: bool = False
    ) -> DjangoCursor:
        return await self.cursor(binary=binary).execute(query, parameters)

    def transaction(self) -> DjangoTransaction:
        return DjangoTransaction()


def operate(
    work: Callable[[AsyncConnection[Any]], Coroutine[Any, Any, Result]], *, seconds: float = STATEMENT_SECONDS
) -> Result:
    """Do the broker's kind of work in one transaction, with its planner settings and a bound on each statement."""
    with transaction.atomic():
        with django_connection.cursor() as cursor:
            for name, value in PLANNER.items():
                cursor.execute(f"SET LOCAL {name} = {value}")
            cursor.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        return _run(work(cast("AsyncConnection[Any]", DjangoConnection())))


def _run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    coroutine.close()
    raise RuntimeError("Work on Django's connection may not wait for an event loop.")
