"""Handing messages out: claims and pops, by demand, many readers and queues in one statement."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from psycopg import AsyncConnection

from delivery.engine.backlog import Look, Stock
from delivery.engine.waiters import AcrossAttempt, Attempt, ClaimAttempt, PopAttempt
from delivery.moves.notices import Notices
from delivery.protocol.fields import Stage
from delivery.storage.after_commit import AfterCommit, for_each, guarded
from delivery.storage.columns import BigintColumn, Float8Column, TextColumn
from delivery.storage.connection import fetch_batch, fetch_rows
from delivery.storage.meters import Moves
from delivery.storage.statements import statement

QUEUES_OWN_TIMEOUT = -1.0
LOWEST_RANK = -(2**40)  # below every priority's
HIGHEST_RANK = 1  # above every priority's
LOOK_FURTHER = 1000  # messages of each queue behind those that others are just taking
FLOOR_SECONDS = 0.05  # how long a floor is trusted before somebody looks below it again


class Floors:
    """Where the last claim of each queue ended: what lies below was taken, unless it came back since.

    Only a hint, for speed: dead index entries gather below it until vacuum comes. Whatever this node makes ready below
    a floor removes it; what other nodes make ready there is found when the floor has grown old.
    """

    def __init__(self) -> None:
        self._floors: dict[int, tuple[int, int, float]] = {}
        self._came_in: dict[int, int] = {}  # of queues that are being read: the most urgent rank since that began

    def get(self, queue_id: int) -> tuple[int, int] | None:
        """Where a claim that begins now may start to look."""
        self._came_in[queue_id] = HIGHEST_RANK
        floor = self._floors.get(queue_id)
        if floor is None:
            return None
        rank, index, until = floor
        if time.monotonic() >= until:
            del self._floors[queue_id]
            return None
        return rank, index

    def raise_to(self, queue_id: int, rank: int, index: int) -> None:
        """A claim has ended here. It may not have seen what came in meanwhile."""
        if self._came_in.pop(queue_id, LOWEST_RANK) < rank:
            self._floors.pop(queue_id, None)
            return
        _, _, until = self._floors.get(queue_id, (0, 0, time.monotonic() + FLOOR_SECONDS))
        self._floors[queue_id] = (rank, index, until)

    def remove(self, queue_id: int) -> None:
        """The queue is gone, or everything about it is to be learned anew."""
        self._floors.pop(queue_id, None)
        self._came_in.pop(queue_id, None)

    def forget(self, queue_id: int) -> None:
        """Something came back, at whatever place."""
        self.lower_to(queue_id, LOWEST_RANK)

    def lower_to(self, queue_id: int, rank: int) -> None:
        """Something came in that may be more urgent than the floor."""
        if rank < self._came_in.get(queue_id, LOWEST_RANK):
            self._came_in[queue_id] = rank
        floor = self._floors.get(queue_id)
        if floor is not None and rank < floor[0]:
            del self._floors[queue_id]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a statement has taken from queues, and what was known of them before."""

    rows: Sequence[Any]
    by_attempt: Mapping[Attempt, Sequence[Any]]
    by_queue: Mapping[int, Sequence[Attempt]]
    floors: Mapping[int, tuple[int, int] | None]
    looks: Mapping[int, Look]


class Taking:
    """`tell_posters` tells them what was stored before, which is to be heard before what is taken now."""

    def __init__(
        self,
        *,
        node_id: int,
        node_name: str,
        notices: Notices,
        floors: Floors,
        stock: Stock,
        moves: Moves,
        tell_posters: Callable[[], None],
    ) -> None:
        self._moves = moves
        self._tell_posters = tell_posters
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._floors = floors
        self._stock = stock

    async def run_claims(self, connection: AsyncConnection[Any], attempts: list[ClaimAttempt]) -> AfterCommit:
        taken = await self._take_by_queue(connection, "claim", attempts)
        self._moves.claimed += len(taken.rows)
        return self._after_taking(taken, "assign")

    async def run_pops(self, connection: AsyncConnection[Any], attempts: list[PopAttempt]) -> AfterCommit:
        taken = await self._take_by_queue(connection, "pop", attempts)
        self._moves.popped += len(taken.rows)
        return self._after_taking(taken, "finish")

    async def _take_by_queue(self, connection: AsyncConnection[Any], name: str, attempts: Sequence[Attempt]) -> Taken:
        by_queue: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            attempt.begin()
            by_queue[attempt.demand.queues[0].id].append(attempt)
        floors = {queue_id: self._floors.get(queue_id) for queue_id in by_queue}
        looks = {queue_id: self._stock.look_begins(queue_id) for queue_id in by_queue}
        places = [attempt for queued in by_queue.values() for attempt in queued for _ in range(attempt.places)]
        columns = self._demand_columns(by_queue, floors) | self._place_columns(places)
        rows = sorted(await fetch_batch(connection, statement(name), columns))  # by place, their first column
        by_attempt: dict[Attempt, list[Any]] = {attempt: [] for attempt in attempts}
        for row in rows:
            by_attempt[places[row.place - 1]].append(row)
        return Taken(rows, by_attempt, by_queue, floors, looks)

    def _after_taking(self, taken: Taken, stage: Stage) -> AfterCommit:
        return AfterCommit(
            self._tell_posters,
            partial(for_each, lambda row: self._notices.tell(row, stage), taken.rows),
            partial(for_each, partial(self._learn, taken), taken.by_queue),
            partial(for_each, partial(self._settle, taken), taken.by_attempt),
        )

    def _learn(self, taken: Taken, queue_id: int) -> None:
        """What the claim says about how much waits in a queue, and where."""
        queued = taken.by_queue[queue_id]
        of_queue = [row for attempt in queued for row in taken.by_attempt[attempt]]
        self._move_floor(queue_id, of_queue)
        counted = [row.index for row in of_queue if self._was_counted(row)]
        self._stock.taken(queue_id, len(counted))
        unfilled = any(len(taken.by_attempt[attempt]) < attempt.places for attempt in queued)
        if taken.floors[queue_id] is None and unfilled:
            self._stock.ran_dry(queue_id, taken.looks[queue_id], counted)

    def _settle(self, taken: Taken, attempt: Attempt) -> None:
        messages, queue_id = taken.by_attempt[attempt], attempt.demand.queues[0].id
        below = taken.floors[queue_id] is not None and len(messages) < attempt.places
        if below:
            guarded(self._floors.forget, queue_id)
        attempt.settle(messages, more_may_wait=below)

    def _was_counted(self, row: Any) -> bool:
        """Whether a message was added to the stock when it was stored: here, and nobody has had it since."""
        return bool(row.poster_node == self._node_id and row.attempts == 1)

    def _demand_columns(
        self, by_queue: dict[int, list[Attempt]], floors: dict[int, tuple[int, int] | None]
    ) -> dict[str, Any]:
        places = [sum(attempt.places for attempt in queued) for queued in by_queue.values()]
        first_places = [1 + sum(places[:position]) for position in range(len(places))]
        bounds = [floors[queue_id] or (LOWEST_RANK, 0) for queue_id in by_queue]
        return {
            "queue_id": BigintColumn(list(by_queue)),
            "first_place": BigintColumn(first_places),
            "places": BigintColumn(places),
            "floor_rank": BigintColumn([rank for rank, _ in bounds]),
            "floor_index": BigintColumn([index for _, index in bounds]),
        }

    def _place_columns(self, places: Sequence[Attempt]) -> dict[str, Any]:
        demands = [attempt.demand for attempt in places]
        timeouts = [demand.work_timeout for demand in demands]
        return {
            "holder": BigintColumn([demand.reader.session_id for demand in demands]),
            "client": TextColumn([demand.reader.client_name for demand in demands]),
            "work_timeout": Float8Column([QUEUES_OWN_TIMEOUT if value is None else value for value in timeouts]),
            "node": self._node_id,
            "node_name": self._node_name,
        }

    def _move_floor(self, queue_id: int, rows: Sequence[Any]) -> None:
        if rows:
            last = max(rows, key=lambda row: (-row.priority, row.index))
            self._floors.raise_to(queue_id, -last.priority, last.index)

    async def run_across(self, connection: AsyncConnection[Any], attempts: list[AcrossAttempt]) -> None:
        for attempt in attempts:
            if attempt.settled:
                continue
            attempt.begin()
            rows = await self._take_across(connection, attempt) if attempt.demand.queues else []
            # At once, and not after the batch: the next attempt of the batch may meet an error of the storage.
            guarded(self._tell_posters)
            for_each(lambda row: self._stock.taken(row.queue_id, int(self._was_counted(row))), rows)
            if attempt.demand.pops:
                self._moves.popped += len(rows)
                for_each(lambda row: self._notices.tell(row, "finish"), rows)
            else:
                self._moves.claimed += len(rows)
                for_each(lambda row: self._notices.tell(row, "assign"), rows)
            guarded(attempt.settle, rows)

    async def _take_across(self, connection: AsyncConnection[Any], attempt: AcrossAttempt) -> list[Any]:
        demand = attempt.demand
        turn = demand.turns.passed % len(demand.queues) if demand.turns else 0
        queues = [queue.id for queue in demand.queues[turn:] + demand.queues[:turn]]
        parameters = {
            "queue_id": BigintColumn(queues),
            "places": attempt.places,
            "looked_at": attempt.places,
            "in_turns": demand.turns is not None,
            "holder": demand.reader.session_id,
            "work_timeout": demand.work_timeout,
            "pops": demand.pops,
            "node": self._node_id,
        }
        async with connection.transaction():
            rows = await fetch_rows(connection, statement("claim_across"), parameters)
            if len(rows) < attempt.places:  # perhaps because others are just taking what comes first
                parameters |= {"places": attempt.places - len(rows), "looked_at": attempt.places + LOOK_FURTHER}
                rows += await fetch_rows(connection, statement("claim_across"), parameters)
            if rows and demand.pops:
                await connection.execute(statement("finish"), self._finish_columns(demand.reader, rows))
        if demand.turns and rows:
            last_served = queues.index(rows[-1].queue_id)
            demand.turns.passed = turn + last_served + 1
        return rows

    def _finish_columns(self, reader: Any, rows: Sequence[Any]) -> dict[str, Any]:
        return {
            "queue_id": BigintColumn([row.queue_id for row in rows]),
            "sequence": BigintColumn([row.sequence for row in rows]),
            "index": BigintColumn([row.index for row in rows]),
            "holder": BigintColumn([reader.session_id] * len(rows)),
            "client": TextColumn([reader.client_name] * len(rows)),
            "reply": TextColumn([None] * len(rows)),
            "outcome": "popped",
            "node": self._node_id,
            "node_name": self._node_name,
        }
