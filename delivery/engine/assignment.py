"""The line of workers: who joins it, who leaves it, and which requests go to whom.

All of it runs on the lane *claims*. Workers on this node are sent their requests at once. Workers of other nodes become
the holders of theirs in the database, and their node finds them when a hint or its poll says so.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from delivery.engine.limits import Limits
from delivery.moves.claims import assign
from delivery.moves.endings import Endings, failing_claim
from delivery.moves.limits import allowances, spend
from delivery.moves.notices import Notices
from delivery.moves.states import Reason
from delivery.protocol.errors import WillowError
from delivery.storage.advisory_locks import QUEUE_CLASS
from delivery.storage.after_commit import AfterCommit, for_each, guarded
from delivery.storage.columns import BigintColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.lanes import Request, RunBatch
from delivery.storage.meters import Moves
from delivery.storage.statements import statement

MISSED_HEARTBEATS = 3  # after which a worker has lost its requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A worker as `ready` describes it: the columns that join_line.sql reads."""

    session_id: int
    identity: str
    services: Sequence[str]
    queue_ids: Sequence[int]
    slots: int
    heartbeat_interval: float
    config_type: str
    config_version: str


class JoinRequest:
    """A worker goes to the end of the line, unless it `has_gone`. `answer` is called with None when it stands there."""

    synchronous = False
    weight = 0

    def __init__(
        self,
        candidate: Candidate,
        has_gone: Callable[[], bool],
        answer: Callable[[WillowError | None], None],
    ) -> None:
        self.source = candidate.session_id
        self.candidate = candidate
        self.has_gone = has_gone
        self.answer = answer
        self.fail = answer


class LeaveRequest:
    """A worker leaves the line, and what it holds goes to others: everything, or only what it got as a worker."""

    synchronous = False
    weight = 0

    def __init__(
        self,
        session_id: int,
        client: str | None,
        *,
        loses: Callable[[int], bool],
        lost: Callable[[Sequence[Any]], None],
        failed: Callable[[WillowError], None],
    ) -> None:
        self.source = session_id
        self.session_id = session_id
        self.client = client
        self.loses = loses  # of which queues it loses messages
        self.lost = lost
        self.fail = failed


class LookRequest:
    """Other nodes may have given requests to workers of this one."""

    synchronous = False
    source = None
    weight = 0

    def fail(self, error: WillowError) -> None:
        """The poll looks again."""


class AssignRequest:
    """A service may have both a request and a worker that wait."""

    synchronous = False
    source = None
    weight = 0

    def __init__(self, queue_id: int, failed: Callable[[int], None]) -> None:
        self.queue_id = queue_id
        self._failed = failed

    def fail(self, error: WillowError) -> None:
        """The poll tries again."""
        self._failed(self.queue_id)


class WorkersHere(Protocol):
    """The workers of this node."""

    def sessions_in_line(self) -> list[int]: ...

    def hand_out(self, request: Any) -> None:
        """A request that one of them holds."""


class Assignment:
    """`given_elsewhere` is told of the other nodes whose workers were given requests."""

    def __init__(
        self,
        *,
        node_id: int,
        endings: Endings,
        notices: Notices,
        submit: Callable[[Request], None],
        workers: WorkersHere,
        given_elsewhere: Callable[[Iterable[int]], None],
        moves: Moves,
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._moves = moves
        self._node_id = node_id
        self._endings = endings
        self._notices = notices
        self._submit = submit
        self._workers = workers
        self._given_elsewhere = given_elsewhere
        self._wanted: set[int] = set()  # services that an assignment is submitted for

    def runners(self) -> Mapping[type, RunBatch]:
        """In the order in which they run: first who goes, then who comes, then who gets what."""
        return {
            LeaveRequest: self._run_leaves,
            JoinRequest: self._run_joins,
            LookRequest: self._run_looks,
            AssignRequest: self._run_assigns,
        }

    def look_soon(self) -> None:
        self._submit(LookRequest())

    def assign_soon(self, queue_id: int) -> None:
        if queue_id not in self._wanted:
            self._wanted.add(queue_id)
            self._submit(AssignRequest(queue_id, self._wanted.discard))

    async def _run_joins(self, connection: AsyncConnection[Any], requests: list[JoinRequest]) -> AfterCommit:
        """A worker that has gone left the line before, in the same batch: it must not come back."""
        present = [request for request in requests if not request.has_gone()]
        joining = in_order_of_last_word(request.candidate for request in present)
        queue_ids = {queue_id for candidate in joining for queue_id in candidate.queue_ids}
        columns = {
            "workers": Jsonb([asdict(candidate) for candidate in joining]),
            "node": self._node_id,
        }
        async with connection.transaction():
            await _lock_services(connection, queue_ids)
            await connection.execute(statement("join_line"), columns)
        return AfterCommit(
            partial(for_each, lambda request: request.answer(None), requests),
            partial(for_each, self.assign_soon, queue_ids),
        )

    async def _run_leaves(self, connection: AsyncConnection[Any], requests: list[LeaveRequest]) -> AfterCommit:
        """What they hold is read only now: an assignment may have been under way when they left."""
        claims, lost = [], []
        async with connection.transaction():
            sessions = [request.session_id for request in requests]
            await connection.execute(statement("leave_line"), {"session": sessions, "node": self._node_id})
            for request in requests:
                held = await fetch_rows(connection, statement("held_by"), {"holder": request.session_id})
                losing = [row for row in held if request.loses(row.queue_id)]
                lost.append(losing)
                claims += [
                    failing_claim(row, holder=request.session_id, client=request.client, reason=Reason.DISCONNECTED)
                    for row in losing
                ]
            failures = await self._endings.fail(connection, claims)
        told = [partial(request.lost, losing) for request, losing in zip(requests, lost, strict=True)]
        return AfterCommit(partial(self._endings.announce, failures), *told)

    async def _run_looks(self, connection: AsyncConnection[Any], requests: list[LookRequest]) -> AfterCommit:
        workers = {"session": self._workers.sessions_in_line()}
        rows = await fetch_rows(connection, statement("held_requests"), workers)
        return AfterCommit(partial(for_each, self._workers.hand_out, rows))

    async def _run_assigns(self, connection: AsyncConnection[Any], requests: list[AssignRequest]) -> None:
        for request in requests:
            self._wanted.discard(request.queue_id)
            await self._assign(connection, request.queue_id)

    async def _assign(self, connection: AsyncConnection[Any], queue_id: int) -> None:
        limit = settings.WILLOW.batch_size
        async with connection.transaction():
            await _lock_services(connection, [queue_id])
            most = await allowances(connection, [queue_id], pops=False) if self._limits.apply_to(queue_id) else {}
            limit = min(limit, most.get(queue_id, limit))
            rows = await assign(
                connection,
                queue_id,
                node_id=self._node_id,
                lapse_seconds=settings.WILLOW.node_lapse,
                limit=limit,
                limited=bool(most),
            )
            taken = Counter({queue_id: len(rows)})
            next_ones = await spend(connection, most, taken, wanted=len(rows) == limit) if most else {}
        self._moves.claimed += len(rows)
        # At once, and not after the batch: the next service of the batch may meet an error of the storage.
        self._notices.tell_each(rows, "assign")
        for_each(self._workers.hand_out, [row for row in rows if row.node_id == self._node_id])
        if elsewhere := {row.node_id for row in rows} - {self._node_id}:
            guarded(self._given_elsewhere, elsewhere)
        if queue_id in next_ones:
            guarded(self._limits.expect, queue_id, next_ones[queue_id])
        elif rows and len(rows) == limit:
            guarded(self.assign_soon, queue_id)


def in_order_of_last_word(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each worker once, as in its last `ready`, and in the order of those."""
    latest: dict[int, Candidate] = {}
    for candidate in candidates:
        latest.pop(candidate.session_id, None)  # a dictionary keeps the position of a key that it knows
        latest[candidate.session_id] = candidate
    return list(latest.values())


async def _lock_services(connection: AsyncConnection[Any], queue_ids: Iterable[int]) -> None:
    columns = {"queue_id": BigintColumn(sorted(queue_ids)), "lock_class": QUEUE_CLASS}
    await connection.execute(statement("lock_services"), columns)
