"""Advisory locks of PostgreSQL: held until the commit, for what no row stands for.

A lock is named by a number or by two, as `pg_advisory_xact_lock` takes it. Everybody takes the locks of a transaction
before its rows, and in ascending order, so that no two wait for each other.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from zlib import crc32

from psycopg import AsyncConnection

from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statement_connection import Statement, StatementConnection
from delivery.storage.statements import statement

Lock = tuple[int, int]

QUEUE_CLASS = 945_569  # "willow" on a telephone's keys: of locks on queues
GROUP_CLASS = 945_570  # of locks on groups: one for many groups, so that a batch never needs too many
GROUP_LOCKS = 64  # of each queue
MOST_SECOND_NUMBERS = 2_147_483_647


def queue_lock(queue_id: int) -> Lock:
    """As lock_services.sql names it. Whoever has it is the only one who claims by the queue's limits."""
    return QUEUE_CLASS, queue_id % MOST_SECOND_NUMBERS


def group_lock(queue_id: int, group: str) -> Lock:
    """Whoever has it is the only one who decides which messages of the group may go."""
    return GROUP_CLASS, (queue_id * GROUP_LOCKS + crc32(group.encode()) % GROUP_LOCKS) % MOST_SECOND_NUMBERS


class LocksTaken(NamedTuple):
    taken: int


def taking(locks: Iterable[Lock]) -> Statement:
    """For the beginning of a transaction."""
    ordered = sorted(set(locks))
    numbers = {
        "one": BigintColumn([one for one, _ in ordered]),
        "other": BigintColumn([other for _, other in ordered]),
    }
    return Statement(statement("take_locks"), numbers, LocksTaken)


async def take(connection: AsyncConnection[Any], locks: Iterable[Lock]) -> None:
    """In a transaction that is under way."""
    await fetch_batch(connection, *taking(locks))


@asynccontextmanager
async def holding(connection: StatementConnection, locks: Iterable[Lock]) -> AsyncIterator[None]:
    """A transaction with these locks. Its statements see all that was committed before the locks were granted."""
    calls = [f"SELECT pg_advisory_xact_lock({one}, {other})" for one, other in sorted(set(locks))]
    async with connection.short_transaction("; ".join(calls)):
        yield
