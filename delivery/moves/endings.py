"""How claims end: finished, failed, timed out. What ran out of attempts is buried in its dead letter queue."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from delivery.moves.notices import Notices
from delivery.moves.posting import Copy, PostRequest, insert_copies
from delivery.moves.states import Reason
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Post
from delivery.storage.after_commit import AfterCommit, Step, for_each, guarded
from delivery.storage.columns import BigintColumn, ByteaColumn, Float8Column, TextColumn
from delivery.storage.connection import fetch_batch, unavailable, without_values
from delivery.storage.meters import Moves
from delivery.storage.statements import statement
from queues.definitions import (
    QueueRecord,
    dead_letter_name,
    default_settings,
    definition_parameters,
    record_of,
)
from queues.definitions import statement as queue_statement

logger = logging.getLogger(__name__)

NO_BOUND = 2**63 - 1  # the largest bigint
Answer = Callable[[WillowError | None], None]  # called with None when it is done


@dataclass(slots=True, eq=False, kw_only=True)
class Ending:
    """A claim that somebody wants to end, or to keep alive."""

    queue_id: int
    sequence: int
    index: int | None
    holder: int
    answer: Answer
    synchronous: bool = False

    def fail(self, error: WillowError) -> None:
        self.answer(error)


@dataclass(slots=True, eq=False, kw_only=True)
class FinishRequest(Ending):
    client: str | None = None
    reply: bytes | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class FailRequest(Ending):
    reason: str
    client: str | None = None
    error: str | None = None
    delay: float | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class KeepaliveRequest(Ending):
    pass


def failing_claim(claim: Any, *, holder: int, client: str | None, reason: Reason) -> FailRequest:
    """For a claim whose client is not there to hear of it; one that ended otherwise meanwhile needs no failing."""
    return FailRequest(
        queue_id=claim.queue_id,
        sequence=claim.sequence,
        index=claim.index,
        holder=holder,
        client=client,
        reason=reason.value,
        answer=_nobody_waits,
    )


def _nobody_waits(error: WillowError | None) -> None: ...


class NobodyPosts:
    """The poster of dead letters: it wants no notices."""

    session_id = None

    def post_accepted(self, request: PostRequest) -> None: ...

    def post_stored(self, request: PostRequest) -> None: ...

    def post_handed_over(self, request: PostRequest) -> None: ...

    def post_failed(self, request: PostRequest, error: WillowError) -> None: ...


class Endings:
    """`became_ready` is told of queues to which messages came back, and of how long they are delayed."""

    def __init__(
        self,
        *,
        node_id: int | None,
        node_name: str,
        notices: Notices,
        became_ready: Callable[[int, float], None],
        moves: Moves,
    ) -> None:
        self._moves = moves
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._became_ready = became_ready

    async def run_finishes(self, connection: AsyncConnection[Any], requests: list[FinishRequest]) -> AfterCommit:
        columns = _id_columns(requests) | {
            "client": TextColumn([request.client for request in requests]),
            "reply": ByteaColumn([request.reply for request in requests]),
            "outcome": "finished",
            "node": self._node_id,
            "node_name": self._node_name,
        }
        rows = await fetch_batch(connection, statement("finish"), columns)
        self._moves.finished += len(rows)
        return AfterCommit(
            partial(for_each, lambda row: self._notices.tell(row, "finish", requests[row.place - 1].reply), rows),
            *await _answers(connection, requests, {row.place for row in rows}),
        )

    async def run_keepalives(self, connection: AsyncConnection[Any], requests: list[KeepaliveRequest]) -> AfterCommit:
        rows = await fetch_batch(connection, statement("keepalive"), _id_columns(requests))
        return AfterCommit(*await _answers(connection, requests, {row.place for row in rows}))

    async def run_fails(self, connection: AsyncConnection[Any], requests: list[FailRequest]) -> AfterCommit:
        async with connection.transaction():
            failures = await self.fail(connection, requests)
        return AfterCommit(
            partial(self.announce, failures),
            *await _answers(connection, requests, {row.place for row in failures.rows}),
        )

    async def fail(self, connection: AsyncConnection[Any], requests: Sequence[FailRequest]) -> "Failures":
        """In the caller's transaction: back to the queue with what has attempts left, and bury the rest."""
        columns = _id_columns(requests) | {
            "client": TextColumn([request.client for request in requests]),
            "reason": TextColumn([request.reason for request in requests]),
            "error": TextColumn([request.error for request in requests]),
            "delay": Float8Column([request.delay for request in requests]),
            "node": self._node_id,
            "node_name": self._node_name,
        }
        rows = await fetch_batch(connection, statement("retry"), columns)
        buried = await self.bury(connection, [(row, requests[row.place - 1]) for row in rows if row.exhausted])
        return Failures(rows, buried)

    async def bury(self, connection: AsyncConnection[Any], dying: Sequence[tuple[Any, Any]]) -> list["Buried"]:
        """Move messages, locked by the caller's transaction, to their dead letter queues.

        Each comes with what ended it: an object with `client`, `reason` and `error`.
        """
        if not dying:
            return []
        columns = {
            "queue_id": BigintColumn([row.queue_id for row, _ in dying]),
            "sequence": BigintColumn([row.sequence for row, _ in dying]),
            "index": BigintColumn([row.index for row, _ in dying]),
            "client": TextColumn([cause.client for _, cause in dying]),
            "reason": TextColumn([cause.reason for _, cause in dying]),
            "error": TextColumn([cause.error for _, cause in dying]),
            "node": self._node_id,
            "node_name": self._node_name,
        }
        rows = await fetch_batch(connection, statement("bury"), columns)
        origins = {row.queue_id: row for row in rows}
        graves = {queue_id: await _dead_letter_queue(connection, row) for queue_id, row in origins.items()}
        buried = [Buried(row, graves[row.queue_id]) for row in rows]
        await insert_copies(connection, [one.copy for one in buried], self._node_id)
        await mark_dead(connection, [(one.copy, _death_of(one.row)) for one in buried])
        return buried

    def announce(self, failures: "Failures") -> None:
        """After the commit: tell the posters, and whoever waits for what came back or was buried."""
        self._moves.retried += sum(not row.exhausted for row in failures.rows)
        self._moves.dead += len(failures.buried)
        for row in failures.rows:
            if not row.exhausted:
                guarded(self._notices.tell, row, "retry")
                guarded(self._became_ready, row.queue_id, row.delay)
        for one in failures.buried:
            guarded(self._notices.tell, one.row, "drop")
            guarded(self._became_ready, one.copy.queue.id, 0.0)


async def _answers(connection: AsyncConnection[Any], requests: Sequence[Ending], done: set[int]) -> list[Step]:
    """After the commit: say so to those that succeeded; tell the others whether somebody else holds their message."""
    missed = [request for place, request in enumerate(requests, 1) if place not in done]
    refusals = await _refusals(connection, missed) if missed else {}
    return [partial(request.answer, refusals.get(request)) for request in requests]


async def _refusals(connection: AsyncConnection[Any], missed: Sequence[Ending]) -> dict[Ending, WillowError]:
    try:
        rows = await fetch_batch(connection, statement("holders"), _id_columns(missed))
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
    return Endings(node_id=None, node_name=name, notices=notices, became_ready=became_ready, moves=uncounted)


class Buried:
    """A message on its way to the dead letter queue: the row it was and the copy it becomes."""

    def __init__(self, row: Any, grave: QueueRecord) -> None:
        self.row = row
        command = Post(queues=(grave.name,), message=row.body, priority=row.priority)
        self.copy = PostRequest(NobodyPosts(), command, [grave]).copies[0]


@dataclass(frozen=True, slots=True)
class Death:
    """What a dead letter keeps of its life before."""

    origin_queue_id: int | None
    origin_index: int | None
    origin_attempts: int | None
    reason: str | None
    error: str | None
    client: str | None


def _death_of(row: Any) -> Death:
    return Death(row.queue_id, row.index, row.attempts, row.reason, row.error, row.client)


async def mark_dead(connection: AsyncConnection[Any], graves: Sequence[tuple[Copy, Death]]) -> None:
    """Write on dead letters that were just stored where they came from."""
    copies, deaths = [copy for copy, _ in graves], [death for _, death in graves]
    columns = {
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "sequence": BigintColumn([copy.sequence for copy in copies]),
        "origin_queue_id": BigintColumn([death.origin_queue_id for death in deaths]),
        "origin_index": BigintColumn([death.origin_index for death in deaths]),
        "origin_attempts": BigintColumn([death.origin_attempts for death in deaths]),
        "reason": TextColumn([death.reason for death in deaths]),
        "error": TextColumn([death.error for death in deaths]),
        "client": TextColumn([death.client for death in deaths]),
    }
    await connection.execute(statement("mark_dead"), columns)


@dataclass(frozen=True, slots=True)
class Failures:
    """What became of claims that failed."""

    rows: list[Any]
    buried: list[Buried]


async def _dead_letter_queue(connection: AsyncConnection[Any], row: Any) -> QueueRecord:
    """The dead letter queue of a message's queue, made if this is its first dead letter.

    However many queues there are: the bound on those that clients make must not stop a message from dying.
    """
    name = dead_letter_name(row.queue_name)
    parameters = definition_parameters(name, row.queue_tags, default_settings(name)) | {"most_queues": NO_BOUND}
    async with connection.cursor(row_factory=dict_row, binary=True) as cursor:
        while True:
            await cursor.execute(queue_statement("define"), parameters)
            if (found := await cursor.fetchone()) is not None:
                return record_of(found)


def _id_columns(requests: Sequence[Ending]) -> dict[str, Any]:
    return {
        "queue_id": BigintColumn([request.queue_id for request in requests]),
        "sequence": BigintColumn([request.sequence for request in requests]),
        "index": BigintColumn([request.index for request in requests]),
        "holder": BigintColumn([request.holder for request in requests]),
    }


def message_key(queue_id: int, sequence: int) -> str:
    return f"{queue_id}/{sequence}"


def not_claimed(queue_id: int, sequence: int) -> WillowError:
    key = message_key(queue_id, sequence)
    return WillowError(Code.NO_OBJECT, key, f"The message {key} is not claimed.")


def _not_yours(queue_id: int, sequence: int) -> WillowError:
    key = message_key(queue_id, sequence)
    return WillowError(Code.PERMISSION_DENIED, key, f"The message {key} is held by another client.")
