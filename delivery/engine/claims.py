"""Handing messages out: claims and pops, by demand, many readers and queues in one statement."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from psycopg import AsyncConnection

from delivery.engine.backlog import Stock
from delivery.engine.demands import Demand
from delivery.engine.floors import LOWEST_RANK, Floors
from delivery.engine.waiters import AcrossAttempt, Attempt, ClaimAttempt, PopAttempt
from delivery.moves.claims import Claimed, Popped, QueueDemand, claim, claim_across, pop, pop_across
from delivery.moves.free_ids import FreeIds
from delivery.moves.notices import Notices
from delivery.protocol.fields import Stage
from delivery.storage.meters import Moves

Run = Callable[[Sequence[QueueDemand], Sequence[Demand]], Awaitable[Sequence[Claimed | Popped]]]


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
        free_ids: FreeIds,
    ) -> None:
        self._free_ids = free_ids
        self._moves = moves
        self._tell_posters = tell_posters
        self._node_id = node_id
        self._node_name = node_name
        self._notices = notices
        self._floors = floors
        self._stock = stock

    async def run_claims(self, connection: AsyncConnection[Any], attempts: list[ClaimAttempt]) -> None:
        run = partial(claim, connection, node_id=self._node_id)
        self._moves.claimed += await self._run_by_queue(run, "assign", attempts)

    async def run_pops(self, connection: AsyncConnection[Any], attempts: list[PopAttempt]) -> None:
        run = partial(pop, connection, node_id=self._node_id, node_name=self._node_name)
        self._moves.popped += await self._run_by_queue(run, "finish", attempts)

    async def _run_by_queue(self, run: Run, stage: Stage, attempts: Sequence[Attempt]) -> int:
        """Returns how many messages were taken."""
        by_queue: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            attempt.begin()
            by_queue[attempt.demand.queues[0].id].append(attempt)
        floors = {queue_id: self._floors.get(queue_id) for queue_id in by_queue}
        looks = {queue_id: self._stock.look_begins(queue_id) for queue_id in by_queue}
        places = [attempt for queued in by_queue.values() for attempt in queued for _ in range(attempt.places)]
        demands = [_queue_demand(queue_id, queued, floors[queue_id]) for queue_id, queued in by_queue.items()]
        rows = sorted(await run(demands, [attempt.demand for attempt in places]))  # by place, their first column
        if stage == "finish":
            self._free_ids.give(rows)
        self._tell_posters()
        taken: dict[Attempt, list[Claimed | Popped]] = {attempt: [] for attempt in attempts}
        for row in rows:
            taken[places[row.place - 1]].append(row)
            self._notices.tell(row, stage)
        for queue_id, queued in by_queue.items():
            of_queue = [row for attempt in queued for row in taken[attempt]]
            self._move_floor(queue_id, of_queue)
            counted = [row.index for row in of_queue if self._was_counted(row)]
            self._stock.taken(queue_id, len(counted))
            if floors[queue_id] is None and any(len(taken[attempt]) < attempt.places for attempt in queued):
                self._stock.ran_dry(queue_id, looks[queue_id], counted)
        for attempt, messages in taken.items():
            below = floors[attempt.demand.queues[0].id] is not None and len(messages) < attempt.places
            if below:
                self._floors.forget(attempt.demand.queues[0].id)
            attempt.settle(messages, more_may_wait=below)
        return len(rows)

    def _was_counted(self, row: Claimed | Popped) -> bool:
        """Whether a message was added to the stock when it was stored: here, and nobody has had it since."""
        return row.poster_node == self._node_id and row.attempts == 1

    def _move_floor(self, queue_id: int, rows: Sequence[Claimed | Popped]) -> None:
        if rows:
            last = max(rows, key=lambda row: (-row.priority, row.index))
            self._floors.raise_to(queue_id, -last.priority, last.index)

    async def run_across(self, connection: AsyncConnection[Any], attempts: list[AcrossAttempt]) -> None:
        for attempt in attempts:
            if attempt.settled:
                continue
            attempt.begin()
            rows = await self._take_across(connection, attempt) if attempt.demand.queues else []
            self._tell_posters()
            for row in rows:
                self._stock.taken(row.queue_id, int(self._was_counted(row)))
                self._notices.tell(row, "finish" if attempt.demand.pops else "assign")
            if attempt.demand.pops:
                self._moves.popped += len(rows)
                self._free_ids.give(rows)
            else:
                self._moves.claimed += len(rows)
            attempt.settle(rows)

    async def _take_across(self, connection: AsyncConnection[Any], attempt: AcrossAttempt) -> list[Claimed]:
        demand = attempt.demand
        first = demand.rotation.next_queue % len(demand.queues) if demand.rotation else 0
        queues = [queue.id for queue in demand.queues[first:] + demand.queues[:first]]
        take = partial(pop_across, node_name=self._node_name) if demand.pops else claim_across
        async with connection.transaction():
            rows = await take(
                connection,
                queues,
                demand,
                places=attempt.places,
                evenly=demand.rotation is not None,
                node_id=self._node_id,
            )
        if demand.rotation and rows:
            last_served = queues.index(rows[-1].queue_id)
            demand.rotation.next_queue = first + last_served + 1
        return rows


def _queue_demand(queue_id: int, queued: Sequence[Attempt], floor: tuple[int, int] | None) -> QueueDemand:
    rank, index = floor or (LOWEST_RANK, 0)
    return QueueDemand(queue_id, sum(attempt.places for attempt in queued), rank, index)
