"""For code that runs in a transaction of somebody else's, as a task does in a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper


@contextmanager
def transactions_kept_whole() -> Iterator[None]:
    """A transaction that breaks here goes on from where this began. Otherwise what was written stays, also if something
    raises: it would stay, too, where there is no transaction.
    """
    begun = [
        (connection, savepoint)
        for connection in connections.all(initialized_only=True)
        if connection.in_atomic_block and (savepoint := connection.savepoint()) is not None
    ]
    try:
        yield
    finally:
        for connection, savepoint in begun:
            if _is_broken(connection):
                connection.needs_rollback = False
                connection.savepoint_rollback(savepoint)
            else:
                connection.savepoint_commit(savepoint)


def _is_broken(connection: BaseDatabaseWrapper) -> bool:
    """PostgreSQL refuses every statement after one that failed; Django notes it only of some."""
    if connection.needs_rollback:
        return True
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return True
    return False
