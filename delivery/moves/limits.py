"""Claims from queues that have limits: never more at a time than `max_in_flight`, and no faster than `rate`.

The caller holds the locks of the queues (storage/advisory_locks.py), taken before any of these statements: what they
count is all there is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from delivery.moves.claims import Claimed, ClaimTerms, QueueDemand, place_columns
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from queues.integer_ranges import BIGINT_MAX


class LimitedRow(NamedTuple):
    """A row of `claim_limited`: those of Claimed, and the same in each row what the limits allowed."""

    place: int | None
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    attempts: int
    priority: int
    body: bytes
    work_timeout: float
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int
    headers: dict[str, str] | None
    group_key: str | None
    most: int | None
    next_in: float | None


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
    connection: AsyncConnection[Any],
    demand: QueueDemand,
    places: Sequence[ClaimTerms],
    *,
    node_id: int,
    pops: bool = False,
) -> LimitedClaims:
    """As `claim`, from one queue. `pops`: they end at once, and take up no place."""
    values = demand._asdict() | place_columns(places) | {"node": node_id, "pops": pops}
    values["limited"] = BigintColumn([demand.queue_id])
    rows = await fetch_batch(connection, statement("claim_limited"), values, LimitedRow)
    if not rows:  # it is paused, or gone
        return LimitedClaims(())
    claimed = [Claimed._make(row[:-2]) for row in rows if row.place is not None]
    most, next_in = rows[0].most, rows[0].next_in
    return LimitedClaims(claimed, most is not None and len(claimed) == most < len(places), next_in)


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
