"""Time limits for the console's queries, so that they do not slow the broker down."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection

QUERY_SECONDS = 5.0  # that any statement of the console may take


@contextmanager
def query_time(seconds: float = QUERY_SECONDS) -> Iterator[None]:
    """Statements inside end with QueryCanceled after so many seconds each."""
    before = _limit()
    _set_limit(f"{round(seconds * 1000)}ms")
    try:
        yield
    finally:
        try:
            _set_limit(before)
        except Error:
            # Nothing can be set in a failed transaction; its rollback restores the value anyway.
            connection.needs_rollback = connection.in_atomic_block


def _limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])


def _set_limit(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, false)", [value])
