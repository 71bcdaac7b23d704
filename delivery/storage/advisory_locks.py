"""Advisory locks of PostgreSQL: held until the commit, for what no row stands for.

A lock is named by a number or by two, as `pg_advisory_xact_lock` takes it. Everybody takes the locks of a transaction
before its rows, and in ascending order, so that no two wait for each other.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, LiteralString
from zlib import crc32

from psycopg import AsyncConnection

from delivery.storage.statement_connection import StatementConnection

Lock = tuple[int, int]
TAKE: LiteralString = (
    "SELECT pg_advisory_xact_lock(one, other) FROM unnest(%(one)s::int[], %(other)s::int[]) AS l (one, other)"
)

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


async def take(connection: AsyncConnection[Any], locks: Iterable[Lock]) -> None:
    """In a transaction that is under way."""
    ordered = sorted(set(locks))
    numbers = {"one": [one for one, _ in ordered], "other": [other for _, other in ordered]}
    await connection.execute(TAKE, numbers)


@asynccontextmanager
async def holding(connection: StatementConnection, locks: Iterable[Lock]) -> AsyncIterator[None]:
    """A transaction with these locks. Its statements see all that was committed before the locks were granted."""
    calls = [f"SELECT pg_advisory_xact_lock({one}, {other})" for one, other in sorted(set(locks))]
    async with connection.short_transaction("; ".join(calls)):
        yield
