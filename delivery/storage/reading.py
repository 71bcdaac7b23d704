"""Reads for people: short, on the indexes that they are written for, and ended by PostgreSQL if they take too long."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from delivery.storage.connection import PLANNER

READ_SECONDS = 2.0  # that one statement may take


@contextmanager
def bounded_cursor(seconds: float = READ_SECONDS) -> Iterator[CursorWrapper]:
    """A cursor whose statements may each take that long. One that takes longer raises an OperationalError."""
    settings = {**PLANNER, "statement_timeout": f"{max(1, round(seconds * 1000))}ms"}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS s (name, value)",
            [list(settings), list(settings.values())],
        )
        yield cursor
