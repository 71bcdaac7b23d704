"""Messages go to those who wait for them: claimed or popped, from one queue or several, and requests for workers."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from psycopg import AsyncConnection

from delivery.moves.endings import FinishRequest, finish, nobody_waits
from delivery.moves.groups import groups_of, touch_groups
from delivery.protocol.sizes import bytes_of_headers
from delivery.storage.columns import BigintColumn, Float8Column, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from delivery.storage.vocabulary import MOST_TAKEN_BYTES, Outcome

QUEUES_OWN_TIMEOUT = -1.0
NO_LIMITS: Mapping[int, int] = {}
MOST_BYTES_OF_A_LETTER = 6  # in JSON
LOOK_FURTHER = 1000  # messages of each queue behind those that others are just taking


class Claimed(NamedTuple):
    """A message that `claim` or `claim_across` gave to somebody. `place`: which of the places it fills, from 1 on."""

    place: int
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


class Popped(NamedTuple):
    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    attempts: int
    priority: int
    body: bytes
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int
    headers: dict[str, str] | None
    group_key: str | None


class Assigned(NamedTuple):
    """A request that went to a worker, of this node or of another."""

    place: int
    holder: int
    node_id: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    attempts: int
    body: bytes
    work_timeout: float
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int


class Claimant(Protocol):
    @property
    def session_id(self) -> int: ...

    @property
    def client_name(self) -> str | None: ...


class ClaimTerms(Protocol):
    """What a place is for: who gets the message, and for how long (None: as long as its queue says)."""

    @property
    def reader(self) -> Claimant: ...

    @property
    def work_timeout(self) -> float | None: ...


class QueueDemand(NamedTuple):
    """So many places for messages of one queue, from this rank and index on."""

    queue_id: int
    places: int
    floor_rank: int
    floor_index: int


class WithBody(Protocol):
    @property
    def body(self) -> bytes: ...

    @property
    def headers(self) -> Mapping[str, str] | None: ...


def is_cut(taken: Sequence[WithBody]) -> bool:
    """Whether a statement may have left messages alone only because those before them were large."""
    left = MOST_TAKEN_BYTES - sum(len(row.body) for row in taken)
    with_headers = [row.headers for row in taken if row.headers]
    if left <= 0 or not with_headers:
        return left <= 0
    if MOST_BYTES_OF_A_LETTER * sum(map(bytes_of_headers, with_headers)) < left:
        return False
    return sum(map(_bytes_in_database, with_headers)) >= left


def _bytes_in_database(headers: Mapping[str, str]) -> int:
    """As _message_bytes.sql counts them."""
    return len(json.dumps(headers, ensure_ascii=False).encode())


async def claim(
    connection: AsyncConnection[Any], demands: Sequence[QueueDemand], places: Sequence[ClaimTerms], *, node_id: int
) -> list[Claimed]:
    """`places` are those of all demands, one queue's after the other's."""
    if len(demands) == 1:
        values = demands[0]._asdict() | place_columns(places) | {"node": node_id}
        return await fetch_batch(connection, statement("claim_from_one"), values, Claimed)
    columns = _demand_columns(demands) | place_columns(places) | {"node": node_id}
    return await fetch_batch(connection, statement("claim"), columns, Claimed)


async def pop(
    connection: AsyncConnection[Any],
    demands: Sequence[QueueDemand],
    places: Sequence[ClaimTerms],
    *,
    node_id: int,
    node_name: str,
) -> list[Popped]:
    """As `claim`, and the messages end with it."""
    columns = _demand_columns(demands) | place_columns(places) | {"node": node_id, "node_name": node_name}
    return await fetch_batch(connection, statement("pop"), columns, Popped)


def _demand_columns(demands: Sequence[QueueDemand]) -> dict[str, Any]:
    places = [demand.places for demand in demands]
    return {
        "queue_id": BigintColumn([demand.queue_id for demand in demands]),
        "first_place": BigintColumn([1 + sum(places[:position]) for position in range(len(places))]),
        "places": BigintColumn(places),
        "floor_rank": BigintColumn([demand.floor_rank for demand in demands]),
        "floor_index": BigintColumn([demand.floor_index for demand in demands]),
    }


def place_columns(places: Sequence[ClaimTerms]) -> dict[str, Any]:
    timeouts = [terms.work_timeout for terms in places]
    return {
        "holder": BigintColumn([terms.reader.session_id for terms in places]),
        "client": TextColumn([terms.reader.client_name for terms in places]),
        "work_timeout": Float8Column([QUEUES_OWN_TIMEOUT if value is None else value for value in timeouts]),
    }


async def claim_across(
    connection: AsyncConnection[Any],
    queue_ids: Sequence[int],
    terms: ClaimTerms,
    *,
    places: int,
    evenly: bool,
    node_id: int,
    pops: bool = False,
    most: Mapping[int, int] = NO_LIMITS,
) -> list[Claimed]:
    """In the caller's transaction, from several queues as if they were one. `most`: what limits allow, by queue."""
    parameters = {
        "queue_id": BigintColumn(queue_ids),
        "most": BigintColumn([most.get(queue_id) for queue_id in queue_ids]),
        "places": places,
        "looked_at": places,
        "evenly": evenly,
        "holder": terms.reader.session_id,
        "work_timeout": terms.work_timeout,
        "pops": pops,
        "node": node_id,
    }
    claimed = await fetch_batch(connection, statement("claim_across"), parameters, Claimed)
    if len(claimed) < places and not is_cut(claimed):  # perhaps because others are just taking what comes first
        taken = Counter(one.queue_id for one in claimed)
        left = [most[queue_id] - taken[queue_id] if queue_id in most else None for queue_id in queue_ids]
        parameters |= {
            "places": places - len(claimed),
            "looked_at": places + LOOK_FURTHER,
            "most": BigintColumn(left),
        }
        claimed += await fetch_batch(connection, statement("claim_across"), parameters, Claimed)
    return claimed


async def pop_across(
    connection: AsyncConnection[Any],
    queue_ids: Sequence[int],
    terms: ClaimTerms,
    *,
    places: int,
    evenly: bool,
    node_id: int,
    node_name: str,
    most: Mapping[int, int] = NO_LIMITS,
) -> list[Claimed]:
    """As `claim_across`, and the messages end with it."""
    claimed = await claim_across(
        connection, queue_ids, terms, places=places, evenly=evenly, node_id=node_id, pops=True, most=most
    )
    await end_popped(connection, claimed, [terms] * len(claimed), node_id=node_id, node_name=node_name)
    return claimed


async def end_popped(
    connection: AsyncConnection[Any],
    claimed: Sequence[Claimed],
    places: Sequence[ClaimTerms],
    *,
    node_id: int,
    node_name: str,
) -> None:
    """Messages that were claimed to be popped end, each for the reader of its place."""
    endings = [_ending(one, terms.reader) for one, terms in zip(claimed, places, strict=True)]
    if endings:
        await finish(connection, endings, outcome=Outcome.POPPED, node_id=node_id, node_name=node_name)
        await touch_groups(connection, groups_of(claimed))


def _ending(claimed: Claimed, reader: Claimant) -> FinishRequest:
    return FinishRequest(
        queue_id=claimed.queue_id,
        sequence=claimed.sequence,
        index=claimed.index,
        holder=reader.session_id,
        client=reader.client_name,
        answer=nobody_waits,
    )


async def assign(
    connection: AsyncConnection[Any],
    queue_id: int,
    *,
    node_id: int,
    lapse_seconds: float,
    limit: int,
    limited: bool = False,
) -> list[Assigned]:
    """In the caller's transaction, which holds the service locked: its requests go to the workers in line.

    `limited`: the limits of the service are known to allow so many.
    """
    parameters = {"queue_id": queue_id, "node": node_id, "lapse": lapse_seconds, "limit": limit, "limited": limited}
    return await fetch_batch(connection, statement("assign"), parameters, Assigned)
