"""Handing messages out: claims and pops, by demand, many readers and queues in one statement."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from psycopg import AsyncConnection

from delivery.engine.backlog import Backlog, Look
from delivery.engine.demands import Demand
from delivery.engine.floors import LOWEST_RANK, Floors
from delivery.engine.limits import Limits
from delivery.engine.waiters import AcrossAttempt, Attempt, ClaimAttempt, LimitedAttempt, PopAttempt
from delivery.moves.claims import (
    Claimed,
    Popped,
    QueueDemand,
    claim,
    claim_across,
    is_cut,
    pop,
    pop_across,
)
from delivery.moves.free_ids import FreeIds
from delivery.moves.limits import allowances, claim_limited, pop_limited, spend
from delivery.moves.notices import Notices
from delivery.protocol.fields import Stage
from delivery.storage.advisory_locks import holding, queue_lock
from delivery.storage.after_commit import AfterCommit, Step, for_each, guarded
from delivery.storage.meters import Moves
from delivery.storage.statement_connection import StatementConnection

Run = Callable[[Sequence[QueueDemand], Sequence[Demand]], Awaitable[Sequence[Claimed | Popped]]]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a statement has taken from queues, and what was known of them before."""

    rows: Sequence[Claimed | Popped]
    by_attempt: Mapping[Attempt, Sequence[Claimed | Popped]]
    by_queue: Mapping[int, Sequence[Attempt]]
    floors: Mapping[int, tuple[int, int] | None]
    looks: Mapping[int, Look]
    is_cut: bool  # what is missing may be there, and was only too large to be taken at once
    held_back: set[int] = field(default_factory=set)  # queues of which limits let no more go


class ClaimRunner:
    """`tell_posters` tells them what was stored before, which is to be heard before what is taken now."""

    def __init__(
        self,
        *,
        node_id: int,
        node_name: str,
        notices: Notices,
        floors: Floors,
        backlog: Backlog,
        moves: Moves,
        tell_posters: Callable[[], None],
        free_ids: FreeIds,
        limits: Limits,
        groups_touched: Callable[[], None],
    ) -> None:
        self._limits = limits
        self._groups_touched = groups_touched
        self._free_ids = free_ids
        self._moves = moves
        self._tell_posters = tell_posters
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._floors = floors
        self._backlog = backlog

    async def run_claims(self, connection: AsyncConnection[Any], attempts: list[ClaimAttempt]) -> AfterCommit:
        taken = await self._take_by_queue(partial(claim, connection, node_id=self._node_id), attempts)
        self._moves.claimed += len(taken.rows)
        return self._after_taking(taken, "assign")

    async def run_pops(self, connection: AsyncConnection[Any], attempts: list[PopAttempt]) -> AfterCommit:
        moment = self._free_ids.moment
        run = partial(pop, connection, node_id=self._node_id, node_name=self._node_name)
        taken = await self._take_by_queue(run, attempts)
        self._moves.popped += len(taken.rows)
        return self._after_taking(taken, "finish", partial(self._free_ids.give, taken.rows, moment))

    async def run_limited(self, connection: StatementConnection, attempts: list[LimitedAttempt]) -> None:
        """Queue by queue: each has a lock of its own."""
        by_queue: dict[tuple[int, bool], list[LimitedAttempt]] = defaultdict(list)
        for attempt in attempts:
            if not attempt.settled:
                by_queue[attempt.demand.queues[0].id, attempt.demand.pops].append(attempt)
        for (queue_id, pops), queued in by_queue.items():
            await self._run_limited(connection, queue_id, queued, pops=pops)

    async def _run_limited(
        self, connection: StatementConnection, queue_id: int, queued: list[LimitedAttempt], *, pops: bool
    ) -> None:
        moment = self._free_ids.moment
        held_back: set[int] = set()

        async def run(demands: Sequence[QueueDemand], places: Sequence[Demand]) -> Sequence[Claimed]:
            take = partial(pop_limited, node_name=self._node_name) if pops else claim_limited
            claims = await take(connection, demands[0], places, node_id=self._node_id)
            if claims.held_back:
                held_back.add(queue_id)
            if claims.next_in is not None:
                guarded(self._limits.expect, queue_id, claims.next_in)
            return claims.rows

        taken = await self._take_by_queue(run, queued)
        taken.held_back.update(held_back)
        # At once, and not after the batch: the next queue of the batch may meet an error of the storage.
        if pops:
            self._moves.popped += len(taken.rows)
            self._settle_groups_of(taken.rows)
            after = self._after_taking(taken, "finish", partial(self._free_ids.give, taken.rows, moment))
        else:
            self._moves.claimed += len(taken.rows)
            after = self._after_taking(taken, "assign")
        for step in after.at_once:
            guarded(step)

    def _settle_groups_of(self, popped: Sequence[Claimed | Popped]) -> None:
        if any(row.group_key is not None for row in popped):
            guarded(self._groups_touched)

    async def _take_by_queue(self, run: Run, attempts: Sequence[Attempt]) -> Taken:
        by_queue: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            attempt.begin()
            by_queue[attempt.demand.queues[0].id].append(attempt)
        floors = {queue_id: self._floors.get(queue_id) for queue_id in by_queue}
        looks = {queue_id: self._backlog.look_begins(queue_id) for queue_id in by_queue}
        places = [attempt for queued in by_queue.values() for attempt in queued for _ in range(attempt.places)]
        demands = [_queue_demand(queue_id, queued, floors[queue_id]) for queue_id, queued in by_queue.items()]
        rows = sorted(await run(demands, [attempt.demand for attempt in places]))  # by place, their first column
        by_attempt: dict[Attempt, list[Claimed | Popped]] = {attempt: [] for attempt in attempts}
        for row in rows:
            by_attempt[places[row.place - 1]].append(row)
        return Taken(rows, by_attempt, by_queue, floors, looks, is_cut(rows))

    def _after_taking(self, taken: Taken, stage: Stage, *first: Step) -> AfterCommit:
        return AfterCommit(
            *first,
            self._tell_posters,
            partial(self._notices.tell_each, taken.rows, stage),
            partial(for_each, partial(self._learn, taken), taken.by_queue),
            partial(for_each, partial(self._settle, taken), taken.by_attempt),
        )

    def _learn(self, taken: Taken, queue_id: int) -> None:
        """What the claim says about how much waits in a queue, and where."""
        queued = taken.by_queue[queue_id]
        of_queue = [row for attempt in queued for row in taken.by_attempt[attempt]]
        self._move_floor(queue_id, of_queue)
        counted = [row.index for row in of_queue if self._was_counted(row)]
        self._backlog.taken(queue_id, len(counted))
        unfilled = any(len(taken.by_attempt[attempt]) < attempt.places for attempt in queued)
        looked_at_all = taken.floors[queue_id] is None and not taken.is_cut and queue_id not in taken.held_back
        if looked_at_all and unfilled:
            self._backlog.ran_dry(queue_id, taken.looks[queue_id], counted)

    def _settle(self, taken: Taken, attempt: Attempt) -> None:
        messages, queue_id = taken.by_attempt[attempt], attempt.demand.queues[0].id
        below = taken.floors[queue_id] is not None and len(messages) < attempt.places
        below &= queue_id not in taken.held_back
        if below:
            guarded(self._floors.forget, queue_id)
        attempt.settle(messages, more_may_wait=below or (taken.is_cut and len(messages) < attempt.places))

    def _was_counted(self, row: Claimed | Popped) -> bool:
        """Whether a message was added to the backlog when it was stored: here, and nobody has had it since."""
        return row.poster_node == self._node_id and row.attempts == 1

    def _move_floor(self, queue_id: int, rows: Sequence[Claimed | Popped]) -> None:
        if rows:
            last = max(rows, key=lambda row: (-row.priority, row.index))
            self._floors.raise_to(queue_id, -last.priority, last.index)

    async def run_across(self, connection: StatementConnection, attempts: list[AcrossAttempt]) -> None:
        for attempt in attempts:
            if attempt.settled:
                continue
            attempt.begin()
            moment = self._free_ids.moment
            rows = await self._take_across(connection, attempt) if attempt.looked_at else []
            # At once, and not after the batch: the next attempt of the batch may meet an error of the storage.
            guarded(self._tell_posters)
            for_each(lambda row: self._backlog.taken(row.queue_id, int(self._was_counted(row))), rows)
            if attempt.demand.pops:
                self._moves.popped += len(rows)
                self._settle_groups_of(rows)
                guarded(self._free_ids.give, rows, moment)
                self._notices.tell_each(rows, "finish")
            else:
                self._moves.claimed += len(rows)
                self._notices.tell_each(rows, "assign")
            guarded(partial(attempt.settle, rows, more_may_wait=is_cut(rows)))

    async def _take_across(self, connection: StatementConnection, attempt: AcrossAttempt) -> list[Claimed]:
        demand = attempt.demand
        first = demand.rotation.next_queue % len(demand.queues) if demand.rotation else 0
        queues = _in_turn(demand, first) if demand.rotation else sorted(attempt.looked_at)
        take = partial(pop_across, node_name=self._node_name) if demand.pops else claim_across
        limited = [queue_id for queue_id in queues if self._limits.apply_to(queue_id, pops=demand.pops)]
        async with holding(connection, map(queue_lock, limited)):
            most = await allowances(connection, limited, pops=demand.pops) if limited else {}
            rows = await take(
                connection,
                queues,
                demand,
                places=attempt.places,
                evenly=demand.rotation is not None,
                node_id=self._node_id,
                most=most,
            )
            unfilled = len(rows) < attempt.places
            taken = Counter(row.queue_id for row in rows)
            next_ones = await spend(connection, most, taken, wanted=unfilled) if most else {}
        for queue_id, seconds in next_ones.items():
            guarded(self._limits.expect, queue_id, seconds)
        if demand.rotation and rows:
            last_served = queues.index(rows[-1].queue_id)
            demand.rotation.next_queue = first + last_served + 1
        return rows


def _in_turn(demand: Demand, first: int) -> list[int]:
    """All queues of a fetch or pop, which looks once: beginning with the one whose turn it is."""
    return [queue.id for queue in demand.queues[first:] + demand.queues[:first]]


def _queue_demand(queue_id: int, queued: Sequence[Attempt], floor: tuple[int, int] | None) -> QueueDemand:
    rank, index = floor or (LOWEST_RANK, 0)
    return QueueDemand(queue_id, sum(attempt.places for attempt in queued), rank, index)
