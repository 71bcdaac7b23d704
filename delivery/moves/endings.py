"""How claims end: finished, failed, timed out, given back. What ran out of attempts is buried (dead_letters.py)."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import AsyncConnection

from delivery.moves.dead_letters import Buried, BuriedRow, bury
from delivery.moves.free_ids import LONG_AGO, FreeIds
from delivery.moves.groups import UNKNOWN_GROUP, Group, arranging, made_ready
from delivery.moves.leases import keepalive
from delivery.moves.message_id import held_columns
from delivery.moves.notices import Notices, why_unanswered
from delivery.protocol.errors import Code, WillowError
from delivery.storage.advisory_locks import group_lock, taking
from delivery.storage.after_commit import AfterCommit, Step, for_each, guarded
from delivery.storage.columns import BigintColumn, ByteaColumn, Column, Float8Column, TextColumn
from delivery.storage.connection import fetch_batch, unavailable, without_values
from delivery.storage.meters import Moves
from delivery.storage.statement_connection import Statement, StatementConnection
from delivery.storage.statements import statement
from delivery.storage.vocabulary import Outcome, Reason

logger = logging.getLogger(__name__)

REPLY_BYTES_OF_A_LOOK = 16_384  # that weigh as much, in a batch, as a look into a queue
CLAIMS_LOOKED_AT = 10_000  # of a queue, for a message that was named without its index

Answer = Callable[[WillowError | None], None]  # called with None when it is done


@dataclass(slots=True, eq=False, kw_only=True)
class Ending:
    """A claim that somebody wants to end, or to keep alive."""

    queue_id: int
    sequence: int
    index: int | None  # None: this session holds no message with that ID
    holder: int
    answer: Answer
    attempt: int | None = None  # None: whichever it is
    synchronous: bool = False

    @property
    def source(self) -> int:
        return self.holder

    @property
    def weight(self) -> int:
        return 0

    def fail(self, error: WillowError) -> None:
        self.answer(error)


@dataclass(slots=True, eq=False, kw_only=True)
class FinishRequest(Ending):
    client: str | None = None
    reply: bytes | None = None
    may_keep_reply: bool = False  # its queue keeps replies, or it is not known whether it does
    group: str | None = UNKNOWN_GROUP

    @property
    def weight(self) -> int:
        return len(self.reply) // REPLY_BYTES_OF_A_LOOK if self.reply else 0


@dataclass(slots=True, eq=False, kw_only=True)
class FailRequest(Ending):
    reason: str
    client: str | None = None
    error: str | None = None
    delay: float | None = None
    final: bool = False  # there is no next attempt, however many are left


@dataclass(slots=True, eq=False, kw_only=True)
class KeepaliveRequest(Ending):
    pass


@dataclass(slots=True, eq=False, kw_only=True)
class ReleaseRequest(Ending):
    """The holder has not begun with it."""


AnyEnding = TypeVar("AnyEnding", bound=Ending)


def in_lock_order(endings: Iterable[AnyEnding]) -> list[AnyEnding]:
    """As everybody names messages that a statement locks: by ascending index, so that no two wait for each other."""
    return sorted(endings, key=lambda ending: (ending.queue_id, ending.index or 0))


def failing_claim(claim: Any, *, holder: int, client: str | None, reason: Reason) -> FailRequest:
    """For a claim whose client is not there to hear of it; one that ended otherwise meanwhile needs no failing."""
    return FailRequest(
        queue_id=claim.queue_id,
        sequence=claim.sequence,
        index=claim.index,
        holder=holder,
        client=client,
        reason=reason.value,
        answer=nobody_waits,
    )


def nobody_waits(error: WillowError | None) -> None: ...


class Finished(NamedTuple):
    """A claim that `finish` ended. `place`: which of those that were to end, from 1 on."""

    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int
    group_key: str | None


class FailedClaim(NamedTuple):
    """What `retry` made of a claim: `exhausted` messages are still where they were, locked, to be buried."""

    place: int
    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    poster: int | None
    poster_node: int | None
    label: int | None
    notify: int
    exhausted: bool
    delay: float


class Released(NamedTuple):
    place: int
    queue_id: int
    group_key: str | None


class GroupHeld(NamedTuple):
    place: int
    group_key: str | None


class HeldElsewhere(NamedTuple):
    place: int


async def finish(
    connection: AsyncConnection[Any],
    claims: Sequence[FinishRequest],
    *,
    outcome: Outcome,
    node_id: int | None,
    node_name: str,
) -> list[Finished]:
    return await fetch_batch(connection, *finishing(claims, outcome=outcome, node_id=node_id, node_name=node_name))


def finishing(claims: Sequence[FinishRequest], *, outcome: Outcome, node_id: int | None, node_name: str) -> Statement:
    common = {"outcome": outcome.value, "node": node_id, "node_name": node_name}
    if any(claim.may_keep_reply for claim in claims):
        return Statement(statement("finish_keeping"), finish_columns(claims) | common, Finished)
    if len(claims) == 1:
        return Statement(statement("finish_one"), _finish_values(claims[0]) | common, Finished)
    return Statement(statement("finish"), finish_columns(claims) | common, Finished)


def _finish_values(claim: FinishRequest) -> dict[str, Any]:
    """For finish_one.sql, what `finish_columns` is for finish.sql."""
    return {
        name: getattr(claim, name) for name in ("queue_id", "sequence", "index", "holder", "attempt", "client", "reply")
    }


def _places(claims: Sequence[Ending]) -> dict[str, Column]:
    return {
        "queue_id": BigintColumn([claim.queue_id for claim in claims]),
        "index": BigintColumn([claim.index for claim in claims]),
    }


def finish_columns(claims: Sequence[FinishRequest]) -> dict[str, Column]:
    return held_columns(claims) | {
        "client": TextColumn([claim.client for claim in claims]),
        "reply": ByteaColumn([claim.reply for claim in claims]),
    }


async def retry(
    connection: AsyncConnection[Any], claims: Sequence[FailRequest], *, node_id: int | None, node_name: str
) -> list[FailedClaim]:
    """In the caller's transaction: back to the queue with what has attempts left."""
    columns = held_columns(claims) | {
        "client": TextColumn([claim.client for claim in claims]),
        "reason": TextColumn([claim.reason for claim in claims]),
        "error": TextColumn([claim.error for claim in claims]),
        "delay": Float8Column([claim.delay for claim in claims]),
        "final": BigintColumn([int(claim.final) for claim in claims]),
        "node": node_id,
        "node_name": node_name,
    }
    return await fetch_batch(connection, statement("retry"), columns, FailedClaim)


async def release(connection: AsyncConnection[Any], claims: Sequence[ReleaseRequest]) -> list[Released]:
    return await fetch_batch(connection, statement("release"), held_columns(claims), Released)


class Endings:
    """`became_ready` is told of queues to which messages came back, and of how long they are delayed; `claims_ended` of
    queues that have fewer claims than before."""

    def __init__(
        self,
        *,
        node_id: int | None,
        node_name: str,
        notices: Notices,
        became_ready: Callable[[int, float], None],
        claims_ended: Callable[[int, int], None],
        moves: Moves,
        free_ids: FreeIds | None = None,
        has_groups: Callable[[int], bool] = lambda _: False,
        groups_touched: Callable[[], None] = lambda: None,
    ) -> None:
        self._has_groups = has_groups  # whether a queue bounds them
        self._groups_touched = groups_touched
        self._claims_ended = claims_ended
        self._moves = moves
        self._free_ids = free_ids or FreeIds()
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._became_ready = became_ready

    async def run_finishes(self, connection: StatementConnection, requests: list[FinishRequest]) -> AfterCommit:
        ordered = in_lock_order(requests)
        moment = self._free_ids.moment
        rows, promoted = await self._finish(connection, ordered)
        self._moves.finished += len(rows)
        return AfterCommit(
            partial(self._free_ids.give, rows, moment),
            partial(self._notices.tell_each, rows, "finish", lambda row: ordered[row.place - 1].reply),
            partial(self._tell_of_ended, rows),
            partial(self._tell_of_promoted, promoted),
            await _answering(connection, requests, {ordered[row.place - 1] for row in rows}),
        )

    def _settle_groups_of(self, rows: Iterable[Released | BuriedRow]) -> None:
        if any(row.group_key is not None for row in rows):
            guarded(self._groups_touched)

    async def _finish(
        self, connection: StatementConnection, ordered: Sequence[FinishRequest]
    ) -> tuple[list[Finished], Counter[int]]:
        """Which claims ended; and by queue, how many messages of their groups may go in their place."""
        ending = finishing(ordered, outcome=Outcome.FINISHED, node_id=self._node_id, node_name=self._node_name)
        groups = await self._groups_of(connection, ordered)
        if not groups:
            return await fetch_batch(connection, *ending), Counter()
        locks = [group_lock(*group) for group in groups]
        _, rows, arranged = await connection.rows_of_all([taking(locks), ending, arranging(groups)])
        return rows, made_ready(arranged)

    async def _groups_of(self, connection: StatementConnection, ordered: Sequence[FinishRequest]) -> set[Group]:
        """Where queues bound them. A claimed message keeps its group, so it can be looked up before."""
        grouped = [request for request in ordered if self._has_groups(request.queue_id)]
        if unknown := [request for request in grouped if request.group == UNKNOWN_GROUP]:
            found = dict(await fetch_batch(connection, statement("groups_held"), _places(unknown), GroupHeld))
            for place, request in enumerate(unknown, 1):
                request.group = found.get(place)
        return {Group(request.queue_id, request.group) for request in grouped if request.group is not None}

    def _tell_of_promoted(self, promoted: Counter[int]) -> None:
        for queue_id in promoted:
            guarded(self._became_ready, queue_id, 0.0)

    def _tell_of_ended(self, rows: Iterable[Finished | FailedClaim | BuriedRow]) -> None:
        for queue_id, claims in Counter(row.queue_id for row in rows).items():
            guarded(self._claims_ended, queue_id, claims)

    async def run_keepalives(self, connection: AsyncConnection[Any], requests: list[KeepaliveRequest]) -> AfterCommit:
        ordered = in_lock_order(requests)
        rows = await keepalive(connection, ordered)
        return AfterCommit(await _answering(connection, requests, {ordered[row.place - 1] for row in rows}))

    async def run_releases(self, connection: AsyncConnection[Any], requests: list[ReleaseRequest]) -> AfterCommit:
        ordered = in_lock_order(requests)
        rows = await release(connection, ordered)
        self._moves.released += len(rows)
        return AfterCommit(
            partial(self._settle_groups_of, rows),
            partial(for_each, lambda row: self._became_ready(row.queue_id, 0.0), rows),
            await _answering(connection, requests, {ordered[row.place - 1] for row in rows}),
        )

    async def run_fails(self, connection: AsyncConnection[Any], requests: list[FailRequest]) -> AfterCommit:
        async with connection.transaction():
            failures = await self.fail(connection, requests)
        return AfterCommit(
            partial(self.announce, failures),
            await _answering(connection, requests, {failures.requests[row.place - 1] for row in failures.rows}),
        )

    async def fail(self, connection: AsyncConnection[Any], requests: Sequence[FailRequest]) -> "Failures":
        """In the caller's transaction: back to the queue with what has attempts left, and bury the rest."""
        ordered = in_lock_order(requests)
        moment = self._free_ids.moment
        rows = await retry(connection, ordered, node_id=self._node_id, node_name=self._node_name)
        exhausted = [(row, ordered[row.place - 1]) for row in rows if row.exhausted]
        buried = await bury(connection, exhausted, node_id=self._node_id, node_name=self._node_name)
        return Failures(rows, buried, ordered, moment)

    def announce(self, failures: "Failures") -> None:
        """After the commit: tell the posters, and whoever waits for what came back or was buried."""
        self._moves.retried += sum(not row.exhausted for row in failures.rows)
        self._moves.dead += len(failures.buried)
        guarded(self._free_ids.give, [one.row for one in failures.buried], failures.moment)
        for row in failures.rows:
            if not row.exhausted:
                guarded(self._notices.tell, row, "retry")
                guarded(self._became_ready, row.queue_id, row.delay)
        for one in failures.buried:
            guarded(self._notices.tell, one.row, "drop", why_unanswered(one.row))
            guarded(self._became_ready, one.copy.queue.id, 0.0)
        self._tell_of_ended([*failures.rows, *(one.row for one in failures.buried)])
        self._settle_groups_of(one.row for one in failures.buried)


async def _answering(connection: AsyncConnection[Any], requests: Sequence[Ending], done: Collection[Ending]) -> Step:
    """After the commit: say so to those that succeeded; tell the others whether somebody else holds their message."""
    missed = [request for request in requests if request not in done]
    refusals = await _refusals(connection, missed) if missed else {}
    return partial(for_each, lambda request: request.answer(refusals.get(request)), requests)


async def _refusals(connection: AsyncConnection[Any], missed: Sequence[Ending]) -> dict[Ending, WillowError]:
    columns = held_columns(missed) | {"looked_at": CLAIMS_LOOKED_AT}
    try:
        rows = await fetch_batch(connection, statement("holders"), columns, HeldElsewhere)
    except psycopg.Error as error:  # what others ended in the same batch has ended all the same
        logger.warning("Who holds a message could not be found out: %s", without_values(error))
        return dict.fromkeys(missed, unavailable())
    held_elsewhere = {missed[row.place - 1] for row in rows}
    return {
        request: (_not_yours if request in held_elsewhere else not_claimed)(request.queue_id, request.sequence)
        for request in missed
    }


def endings_without_sessions(
    *, name: str, notices_left: Callable[[], None], became_ready: Callable[[int, float], None]
) -> Endings:
    """For those who end claims and have no clients: the reaper and operators. `name` is what the journal calls them."""
    notices = Notices(node_id=None, listener_of=lambda _: None, queue_name=lambda _: "", left_elsewhere=notices_left)
    uncounted = Moves()  # what they did is written down elsewhere
    return Endings(
        node_id=None,
        node_name=name,
        notices=notices,
        became_ready=became_ready,
        claims_ended=lambda queue_id, _: became_ready(queue_id, 0.0),  # also where no limit held others back
        moves=uncounted,
    )


@dataclass(frozen=True, slots=True)
class Failures:
    """What became of claims that failed."""

    rows: list[FailedClaim]
    buried: list[Buried]
    requests: Sequence[FailRequest] = ()  # to which the places of the rows refer
    moment: int = LONG_AGO  # when it began, for the IDs that it left free


def message_key(queue_id: int, sequence: int) -> str:
    return f"{queue_id}/{sequence}"


def not_claimed(queue_id: int, sequence: int) -> WillowError:
    key = message_key(queue_id, sequence)
    return WillowError(Code.NO_OBJECT, key, f"The message {key} is not claimed.")


def _not_yours(queue_id: int, sequence: int) -> WillowError:
    key = message_key(queue_id, sequence)
    return WillowError(Code.PERMISSION_DENIED, key, f"The message {key} is held by another client.")
