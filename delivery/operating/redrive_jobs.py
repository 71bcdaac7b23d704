"""Redriving dead letters: jobs that the reaper works off, and the steps that it takes."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from delivery.inspection.filters import MessageFilter, Place, find_page, with_sequence_found
from delivery.moves.dead_letters import Death, mark_dead
from delivery.moves.message_id import MOST_IDS, MessageId, row_id
from delivery.moves.states import State
from delivery.moves.transfer import Transfer, lock_unclaimed, transfer
from delivery.operating.audit import Operator, audit
from delivery.operating.dead_letters import check_are_dead_letter_queues
from delivery.operating.messages import Choice, describe
from delivery.operating.models import JobState, RedriveJob
from delivery.storage.columns import BigintColumn, TextColumn
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement
from queues.definitions import DEAD_SUFFIX, QueueRecord, record_of
from queues.definitions import statement as queue_statement
from queues.models import Kind, Queue

UNDO_SECONDS = 3600.0
LONGEST_UNDO_SECONDS = 7 * 86_400.0
MOST_COUNTED = 100_000  # dead letters that are counted before a job starts
ORIGIN_IS_GONE = "the queue it came from is gone"


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a redrive would do. `more`: there are more than were counted."""

    messages: int
    by_target: dict[str, int]
    without_target: int
    held: int
    more: bool


def redrive_dry_run(*, chosen: Choice, target: Queue | None = None) -> DryRun:
    bounded = _bounded(chosen)
    rows, more = _count(bounded)
    movable = [row for row in rows if row.state in (State.READY, State.DELAYED)]
    if target is not None:
        by_target = Counter({str(target): len(movable)})
        missing = 0
    else:
        places = {(row.queue_id, row.origin_queue_id) for row in movable}
        found = operate(lambda connection: _origins(connection, places))
        ends = [found.get((row.queue_id, row.origin_queue_id)) for row in movable]
        by_target = Counter(_shown(end) for end in ends if end is not None)
        missing = sum(end is None for end in ends)
    return DryRun(len(movable) - missing, dict(by_target), missing, len(rows) - len(movable), more)


def redrive_start(
    *,
    chosen: Choice,
    by: Operator,
    target: Queue | None = None,
    rate: float | None = None,
    undo_seconds: float = UNDO_SECONDS,
) -> RedriveJob:
    """Dead letters go back to the end of the queues that they came from, or of another one, with no attempts spent.

    What dies after this moment is not of the job.
    """
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise ValidationError({"rate": f"A rate is a number of messages a second above 0, not {rate}."})
    if not 0 <= undo_seconds <= LONGEST_UNDO_SECONDS:
        raise ValidationError({"undo_seconds": f"This must be seconds, from 0 to {LONGEST_UNDO_SECONDS:.0f}."})
    if target is not None and target.kind != Kind.WORK:
        raise ValidationError({"target": f"The queue {target} is a stream; dead letters go to work queues."})
    bounded = _bounded(chosen)
    rows, _ = _count(bounded)
    is_filter = isinstance(bounded, MessageFilter)
    with transaction.atomic():
        job = RedriveJob.objects.create(
            created_by=by.name,
            criteria=_criteria(bounded) if isinstance(bounded, MessageFilter) else {},
            bounds=list(bounded.bounds.items()) if isinstance(bounded, MessageFilter) else [],
            ids=None if is_filter else [str(one) for one in bounded],  # type: ignore[union-attr]
            target_queue_id=target.pk if target else None,
            rate=rate,
            total=len(rows),
            undo_until=timezone.now() + timedelta(seconds=undo_seconds),
        )
        details = {"chosen": describe(chosen), "to": str(target) if target else "their origin", "rate": rate}
        audit(by=by, action="redrive dead letters", target=str(job), messages=len(rows), details=details)
    return job


def redrive_cancel(*, job: RedriveJob, by: Operator) -> None:
    """What was moved stays moved, and can be undone."""
    changed = RedriveJob.objects.filter(pk=job.pk, state=JobState.RUNNING).update(
        state=JobState.CANCELLED, ended_at=Now()
    )
    if not changed:
        raise ValidationError(f"The {job} does not run any more.")
    audit(by=by, action="cancel redrive", target=str(job))


def redrive_undo(*, job: RedriveJob, by: Operator) -> None:
    """Bring back what was moved and what nobody has taken yet."""
    changed = RedriveJob.objects.filter(
        pk=job.pk, state__in=[JobState.DONE, JobState.CANCELLED], undo_until__gt=Now()
    ).update(state=JobState.UNDOING, ended_at=None)
    if not changed:
        raise ValidationError(f"The {job} cannot be undone: it still runs, was undone, or its time for that is over.")
    audit(by=by, action="undo redrive", target=str(job))


def _bounded(chosen: Choice) -> Choice:
    """Only what is there now, in queues of dead letters."""
    if not isinstance(chosen, MessageFilter):
        ids = list(dict.fromkeys(chosen))
        if len(ids) > MOST_IDS:
            raise ValidationError(f"At most {MOST_IDS} messages can be chosen one by one, not {len(ids)}.")
        check_are_dead_letter_queues({one.queue_id for one in ids})
        return ids
    check_are_dead_letter_queues(chosen.queue_ids)
    newest = dict(Queue.objects.filter(pk__in=chosen.queue_ids).order_by("id").values_list("id", "newest_index"))
    return replace(with_sequence_found(chosen), bounds=newest)


def _count(chosen: Choice) -> tuple[list[Any], bool]:
    """The messages, as far as they are counted, and whether there are more."""
    if isinstance(chosen, MessageFilter):
        page = operate(lambda connection: find_page(connection, chosen, Place(), limit=MOST_COUNTED))
        return page.rows, page.next is not None
    return operate(lambda connection: _find_by_ids(connection, chosen)), False


async def _find_by_ids(connection: AsyncConnection[Any], ids: Sequence[MessageId]) -> list[Any]:
    """With what a dry run looks at."""
    columns = {
        "queue_id": [one.queue_id for one in ids],
        "sequence": [one.sequence for one in ids],
        "index": [one.index for one in ids],
    }
    return await fetch_rows(connection, statement("dead_letters_by_id"), columns)


def _criteria(chosen: MessageFilter) -> dict[str, Any]:
    """What the reaper needs to go by the same filter."""
    return {
        "states": sorted(state.value for state in chosen.states),
        "sequence": chosen.sequence,
        "index_from": chosen.index_from,
        "index_to": chosen.index_to,
        "priority_from": chosen.priority_from,
        "priority_to": chosen.priority_to,
        "posted_before": chosen.posted_before.isoformat() if chosen.posted_before else None,
        "posted_after": chosen.posted_after.isoformat() if chosen.posted_after else None,
        "text": chosen.text,
        "reason": chosen.reason,
        "signature": chosen.signature,
        "origin_queue_id": chosen.origin_queue_id,
    }


def _filter_of(job: Any) -> MessageFilter:
    criteria = dict(job.criteria)
    criteria["states"] = frozenset(State(value) for value in criteria["states"])
    for name in ("posted_before", "posted_after"):
        criteria[name] = datetime.fromisoformat(criteria[name]) if criteria[name] else None
    bounds = dict(job.bounds)
    return MessageFilter(queue_ids=tuple(bounds), bounds=bounds, **criteria)


@dataclass(slots=True)
class Step:
    """What one step of a job did, and which queues got messages by it."""

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
    """In the caller's transaction: the next step of the job that has waited longest, if one may move something."""
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
    ids, place = await _next_ids(connection, job, allowed)
    rows = await lock_unclaimed(connection, ids)
    step = Step(job, JobState.RUNNING if place else JobState.DONE, 0, 0)
    step.position, step.after_index = (place.queue, place.after) if place else (job.position, job.after_index)
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


async def _next_ids(connection: AsyncConnection[Any], job: Any, allowed: int) -> tuple[list[MessageId], Place | None]:
    """What comes next, and where to go on after it (None: that was all)."""
    if job.ids is not None:
        chosen = [MessageId.read(text) for text in job.ids[job.position : job.position + allowed]]
        end = job.position + len(chosen)
        return chosen, Place(end) if end < len(job.ids) else None
    page = await find_page(connection, _filter_of(job), Place(job.position, job.after_index), limit=allowed, looks=1)
    return [row_id(row) for row in page.rows], page.next


async def _targets(
    connection: AsyncConnection[Any], job: Any, rows: Sequence[Any]
) -> dict[tuple[int, int | None], QueueRecord]:
    """By dead letter queue and origin: where messages go."""
    places = {(row.queue_id, row.origin_queue_id) for row in rows}
    if job.target_queue_id is None:
        return await _origins(connection, places)
    found = await _queues(connection, [job.target_queue_id])
    return {place: found[job.target_queue_id] for place in places if job.target_queue_id in found}


async def _origins(
    connection: AsyncConnection[Any], places: Iterable[tuple[int, int | None]]
) -> dict[tuple[int, int | None], QueueRecord]:
    """The queue that each came from; if that was deleted, the one that has its name and tags now."""
    listed = list(places)
    numbers = {queue_id for place in listed for queue_id in place if queue_id is not None}
    known = await _queues(connection, sorted(numbers))
    found: dict[tuple[int, int | None], QueueRecord] = {}
    for dead_id, origin_id in listed:
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
        await cursor.execute(queue_statement("named"), {"name": name})
        records = [record_of(row) for row in await cursor.fetchall()]
    return next((record for record in records if record.tags == tags), None)


def _shown(queue: QueueRecord) -> str:
    return f"{queue.name} [{', '.join(queue.tags)}]" if queue.tags else queue.name


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
    """Back to the dead letter queues with what nobody has had yet."""
    taken = await fetch_rows(connection, statement("take_redriven"), {"job": job.id, "limit": allowed})
    step = Step(job, JobState.UNDOING if len(taken) == allowed else JobState.UNDONE, job.position, job.after_index)
    ids = [MessageId(row.queue_id, row.sequence, row.index) for row in taken]
    rows = await lock_unclaimed(connection, ids, untouched=True)
    graves = await _queues(connection, sorted({row.dead_queue_id for row in taken}))
    by_grave: defaultdict[int, list[Any]] = defaultdict(list)
    for row in rows:
        by_grave[taken[row.place - 1].dead_queue_id].append(row)
    for queue_id in sorted(by_grave.keys() & graves.keys()):
        result = await transfer(connection, by_grave[queue_id], graves[queue_id], by=by, afresh=True)
        await mark_dead(connection, [(copy, _death_of(taken[row.place - 1])) for row, copy in result.moved])
        step.arrived[queue_id] += len(result.moved)
        step.returned += len(result.moved)
    return step


def _death_of(taken: Any) -> Death:
    """What a redriven message was before."""
    return Death(
        taken.origin_queue_id, taken.origin_index, taken.origin_attempts, taken.reason, taken.error, taken.client
    )
