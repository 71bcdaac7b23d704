"""Claims from queues that have limits: never more at a time than `max_in_flight`, and no faster than `rate`.

Each queue has a lock (storage/advisory_locks.py), taken before any of these statements: what they count is all there
is.
"""

from collections import Counter, namedtuple
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.claims import Claimed, ClaimTerms, QueueDemand, end_popped, place_columns
from delivery.storage.advisory_locks import holding, queue_lock, taking
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statement_connection import Statement, StatementConnection
from delivery.storage.statements import statement
from queues.integer_ranges import BIGINT_MAX

# A row of `claim_limited`: that of a claim, if one could be made; and in each row, what the limits allowed.
LimitedRow = namedtuple("LimitedRow", (*Claimed._fields, "most", "next_in"))  # type: ignore[misc]


class Allowance(NamedTuple):
    queue_id: int
    most: int | None


class NextOne(NamedTuple):
    queue_id: int
    next_in: float


@dataclass(frozen=True, slots=True)
class LimitedClaims:
    """`held_back`: there may be more, which the limits did not let go. `next_in`: seconds until the rate does."""

    rows: Sequence[Claimed]
    held_back: bool = False
    next_in: float | None = None


async def claim_limited(
    connection: StatementConnection, demand: QueueDemand, places: Sequence[ClaimTerms], *, node_id: int
) -> LimitedClaims:
    """As `claim`, from one queue."""
    locking = taking([queue_lock(demand.queue_id)])
    _, rows = await connection.rows_of_all([locking, claiming_limited(demand, places, node_id=node_id)])
    return _limited_claims(rows, len(places))


async def pop_limited(
    connection: StatementConnection,
    demand: QueueDemand,
    places: Sequence[ClaimTerms],
    *,
    node_id: int,
    node_name: str,
) -> LimitedClaims:
    """As `claim_limited`. What it takes ends at once, takes up no place, and its poster hears of no assignment."""
    async with holding(connection, [queue_lock(demand.queue_id)]):
        rows = await fetch_batch(connection, *claiming_limited(demand, places, pops=True))
        claims = _limited_claims(rows, len(places))
        readers = [places[row.place - 1] for row in claims.rows]
        await end_popped(connection, claims.rows, readers, node_id=node_id, node_name=node_name)
    return claims


def claiming_limited(
    demand: QueueDemand, places: Sequence[ClaimTerms], *, node_id: int | None = None, pops: bool = False
) -> Statement:
    """For a transaction that holds the lock of the queue."""
    values = demand._asdict() | place_columns(places) | {"node": node_id, "pops": pops}
    values["limited"] = BigintColumn([demand.queue_id])
    return Statement(statement("claim_limited"), values, LimitedRow)


def _limited_claims(rows: Sequence[Any], places: int) -> LimitedClaims:
    if not rows:  # it is paused, or gone
        return LimitedClaims(())
    claimed = [Claimed._make(row[:-2]) for row in rows if row.place is not None]
    most, next_in = rows[0].most, rows[0].next_in
    return LimitedClaims(claimed, most is not None and len(claimed) == most < places, next_in)


async def allowances(connection: AsyncConnection[Any], queue_ids: Iterable[int], *, pops: bool) -> dict[int, int]:
    """By limited queue: how many of its messages may go now."""
    values = {"limited": BigintColumn(sorted(queue_ids)), "pops": pops}
    rows = await fetch_batch(connection, statement("allowances"), values, Allowance)
    return {row.queue_id: BIGINT_MAX if row.most is None else row.most for row in rows}


async def spend(
    connection: AsyncConnection[Any], allowed: Mapping[int, int], taken: Counter[int], *, wanted: bool
) -> dict[int, float]:
    """Messages went, as many as were allowed. By queue: seconds until its rate allows the next one that is `wanted`."""
    queue_ids = sorted(allowed)
    values = {
        "limited": BigintColumn(queue_ids),
        "messages": BigintColumn([taken[queue_id] for queue_id in queue_ids]),
        "wanted": BigintColumn([int(wanted)] * len(queue_ids)),
        "pops": False,
    }
    return dict(await fetch_batch(connection, statement("spend"), values, NextOne))
