"""What the reaper does for a redrive: one step at a time, forwards or back."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from delivery.inspection.filters import MessageFilter
from delivery.inspection.index_walk import MessageCursor
from delivery.inspection.search import next_ids
from delivery.moves.dead_letters import Death, mark_dead
from delivery.moves.message_id import MessageId, in_lock_order, with_indexes
from delivery.moves.states import State
from delivery.moves.transfer import Transfer, lock_unclaimed, transfer
from delivery.operating.models import JobState
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement
from queues.definitions import DEAD_SUFFIX, QueueRecord, record_of
from queues.definitions import statement as queue_statement

ORIGIN_IS_GONE = "the queue it came from is gone"
TIMES = ("posted_before", "posted_after")
CRITERIA = ("sequence", "index_from", "index_to", "priority_from", "priority_to", "text", "reason", "signature",
            "origin_queue_id")  # fmt: skip


class Progress(NamedTuple):
    """How far a job has come: the place of a queue in `bounds`, or in `ids` of a message; and an index there."""

    position: int
    after_index: int


def written_criteria(chosen: MessageFilter) -> dict[str, Any]:
    """A filter as a job keeps it, for the steps to read."""
    times = {name: getattr(chosen, name) for name in TIMES}
    return {
        "states": sorted(state.value for state in chosen.states),
        **{name: value.isoformat() if value else None for name, value in times.items()},
        **{name: getattr(chosen, name) for name in CRITERIA},
    }


def _filter_of(job: Any) -> MessageFilter:
    criteria = dict(job.criteria)
    criteria["states"] = frozenset(State(value) for value in criteria["states"])
    for name in TIMES:
        criteria[name] = datetime.fromisoformat(criteria[name]) if criteria[name] else None
    bounds = dict(job.bounds)
    return MessageFilter(queue_ids=tuple(bounds), bounds=bounds, **criteria)


@dataclass(slots=True)
class Step:
    """What one step of a job did, and which queues got messages."""

    job: Any
    state: str
    position: int
    after_index: int
    moved: int = 0
    skipped: int = 0
    failed: int = 0
    returned: int = 0
    problem: str | None = None
    arrived: Counter[int] = field(default_factory=Counter)
    left_notices: bool = False


async def redrive_step(connection: AsyncConnection[Any], now: datetime | None, *, limit: int, by: str) -> Step | None:
    """In the caller's transaction: the next step of the job that has waited longest, if there is one."""
    jobs = await fetch_rows(connection, statement("next_redrive"), {"now": now})
    if not jobs:
        return None
    job = jobs[0]
    allowed = limit if job.rate is None else max(1, min(limit, int(job.rate * job.since_last_step)))
    if job.state == JobState.UNDOING:
        step = await _undo_step(connection, job, allowed, by)
    else:
        step = await _forward_step(connection, job, allowed, by)
    await _record(connection, step, now)
    return step


async def _record(connection: AsyncConnection[Any], step: Step, now: datetime | None) -> None:
    names = ("moved", "skipped", "failed", "returned", "position", "after_index", "state", "problem")
    parameters = {name: getattr(step, name) for name in names} | {"job": step.job.id, "now": now}
    await connection.execute(statement("redrive_stepped"), parameters)


async def _forward_step(connection: AsyncConnection[Any], job: Any, allowed: int, by: str) -> Step:
    ids, progress = await _next_ids(connection, job, allowed)
    rows = await lock_unclaimed(connection, in_lock_order(ids))
    state = JobState.DONE if progress is None else JobState.RUNNING
    step = Step(job, state, *(progress or (job.position, job.after_index)))
    step.skipped = len(ids) - len(rows)
    targets = await _targets(connection, job, rows)
    by_target: defaultdict[int, list[Any]] = defaultdict(list)
    for row in rows:
        if (target := targets.get((row.queue_id, row.origin_queue_id))) is None:
            step.failed += 1
            step.problem = ORIGIN_IS_GONE
        else:
            by_target[target.id].append(row)
    records = {target.id: target for target in targets.values()}
    for queue_id in sorted(by_target):  # queues are locked in the order of their numbers
        result = await transfer(connection, by_target[queue_id], records[queue_id], by=by, afresh=True)
        await _remember(connection, job, result)
        step.arrived[queue_id] += len(result.moved)
        step.moved += len(result.moved)
        step.failed += len(result.refused)
        step.left_notices |= result.left_notices
        for _, reason in result.refused:
            step.problem = reason
    return step


async def _next_ids(
    connection: AsyncConnection[Any], job: Any, allowed: int
) -> tuple[list[MessageId], Progress | None]:
    """What comes next, and how far the job has come with it (None: that was all)."""
    if job.ids is not None:
        named = [MessageId.read(text) for text in job.ids[job.position : job.position + allowed]]
        end = job.position + len(named)
        return await with_indexes(connection, named), Progress(end, 0) if end < len(job.ids) else None
    queue_ids = [queue_id for queue_id, _ in job.bounds]
    after = MessageCursor(queue_ids[job.position], 0, job.after_index) if queue_ids else None
    ids, cursor = await next_ids(connection, _filter_of(job), after, limit=allowed)
    return ids, None if cursor is None else Progress(queue_ids.index(cursor.queue_id), cursor.second)


async def _targets(
    connection: AsyncConnection[Any], job: Any, rows: Sequence[Any]
) -> dict[tuple[int, int | None], QueueRecord]:
    """By dead letter queue and origin: where messages go."""
    if job.target_queue_id is None:
        return await find_origins(connection, rows)
    found = await _queues(connection, [job.target_queue_id])
    target = found.get(job.target_queue_id)
    return {} if target is None else {(row.queue_id, row.origin_queue_id): target for row in rows}


async def find_origins(
    connection: AsyncConnection[Any], rows: Iterable[Any]
) -> dict[tuple[int, int | None], QueueRecord]:
    """By dead letter queue and origin: the queue that messages came from, or that has its name and tags by now."""
    pairs = {(row.queue_id, row.origin_queue_id) for row in rows}
    numbers = {queue_id for pair in pairs for queue_id in pair if queue_id is not None}
    known = await _queues(connection, sorted(numbers))
    found: dict[tuple[int, int | None], QueueRecord] = {}
    for dead_id, origin_id in pairs:
        origin = known.get(origin_id) if origin_id is not None else None
        if origin is None and (dead := known.get(dead_id)) is not None:
            origin = await _queue_named(connection, dead.name.removesuffix(DEAD_SUFFIX), dead.tags)
        if origin is not None and not origin.is_stream:
            found[dead_id, origin_id] = origin
    return found


async def _queues(connection: AsyncConnection[Any], queue_ids: Sequence[int]) -> dict[int, QueueRecord]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(queue_statement("numbered"), {"queue_id": list(queue_ids)})
        return {row["id"]: record_of(row) for row in await cursor.fetchall()}


async def _queue_named(connection: AsyncConnection[Any], name: str, tags: tuple[str, ...]) -> QueueRecord | None:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(queue_statement("named"), {"name": [name]})
        records = [record_of(row) for row in await cursor.fetchall()]
    return next((record for record in records if record.tags == tags), None)


async def _remember(connection: AsyncConnection[Any], job: Any, result: Transfer) -> None:
    rows = [row for row, _ in result.moved]
    copies = [copy for _, copy in result.moved]
    columns = {
        "job": job.id,
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "sequence": BigintColumn([copy.sequence for copy in copies]),
        "index": BigintColumn([copy.index for copy in copies]),
        "dead_queue_id": BigintColumn([row.queue_id for row in rows]),
        "origin_queue_id": BigintColumn([row.origin_queue_id for row in rows]),
        "origin_index": BigintColumn([row.origin_index for row in rows]),
        "origin_attempts": BigintColumn([row.origin_attempts for row in rows]),
        "reason": TextColumn([row.dead_reason for row in rows]),
        "error": TextColumn([row.last_error for row in rows]),
        "client": TextColumn([row.last_client for row in rows]),
    }
    await connection.execute(statement("remember_redriven"), columns)


async def _undo_step(connection: AsyncConnection[Any], job: Any, allowed: int, by: str) -> Step:
    """Move messages that nobody has claimed yet back to the dead letter queues."""
    found = await fetch_rows(connection, statement("take_redriven"), {"job": job.id, "limit": allowed})
    taken = sorted(found, key=lambda row: (row.queue_id, row.index))  # the order in which everybody locks messages
    step = Step(job, JobState.UNDOING if len(taken) == allowed else JobState.UNDONE, job.position, job.after_index)
    ids = [MessageId(row.queue_id, row.sequence, row.index) for row in taken]
    rows = await lock_unclaimed(connection, ids, untouched=True)
    dead_queues = await _queues(connection, sorted({row.dead_queue_id for row in taken}))
    by_dead_queue: defaultdict[int, list[Any]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: taken[row.place - 1].id):  # as they were moved
        by_dead_queue[taken[row.place - 1].dead_queue_id].append(row)
    for queue_id in sorted(by_dead_queue.keys() & dead_queues.keys()):
        result = await transfer(connection, by_dead_queue[queue_id], dead_queues[queue_id], by=by, afresh=True)
        await mark_dead(connection, [(copy, _death_of(taken[row.place - 1])) for row, copy in result.moved])
        step.arrived[queue_id] += len(result.moved)
        step.returned += len(result.moved)
    return step


def _death_of(taken: Any) -> Death:
    """What a redriven message was as a dead letter."""
    return Death(
        taken.origin_queue_id, taken.origin_index, taken.origin_attempts, taken.reason, taken.error, taken.client
    )
