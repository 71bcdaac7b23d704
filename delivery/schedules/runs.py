"""Posting what is due. A post and the step to the next due time are one transaction, so each is posted once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from django.conf import settings
from django.core.exceptions import ValidationError
from psycopg import AsyncConnection

from delivery.engine.lookups import define_queue, find_queue
from delivery.engine.queues import no_such_queue
from delivery.moves.admission import Admission
from delivery.moves.posting import NobodyPosts, PostRequest
from delivery.protocol.commands import Post
from delivery.protocol.errors import WillowError
from delivery.schedules.plan import plan_of
from delivery.schedules.steps import Away, Step, step
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement
from queues.definitions import NOBODY, QueueRecord, tag_set

SCHEDULES_AT_ONCE = 20  # in one transaction
MESSAGES_AT_ONCE = 100  # of one schedule in one transaction
BYTES_AT_ONCE = 4_000_000  # of one schedule's bodies in one transaction
KEPT_RUNS = 100  # of each schedule
NAME_HEADER = "willow-schedule"
DUE_HEADER = "willow-due"


class Template(Protocol):
    """What of a schedule becomes a message."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def queue(self) -> str: ...

    @property
    def tags(self) -> Sequence[str]: ...

    @property
    def message(self) -> Any: ...

    @property
    def headers(self) -> dict[str, str]: ...

    @property
    def priority(self) -> int: ...

    @property
    def ttl(self) -> float | None: ...

    @property
    def unique_key(self) -> str | None: ...


@dataclass(slots=True)
class Run:
    """One due time, and what came of it."""

    schedule: Template
    due: datetime
    request: PostRequest | None = None
    queue_id: int | None = None
    sequence: int | None = None
    index: int | None = None
    duplicate: bool = False
    error: str | None = None


@dataclass(slots=True)
class Posted:
    """To be told to the nodes after the commit."""

    runs: list[Run] = field(default_factory=list)
    arrived: Counter[int] = field(default_factory=Counter)  # messages by queue
    made: list[int] = field(default_factory=list)  # queues that did not exist before
    left_notices: bool = False  # for posters whose messages had to make room


async def post_due(connection: AsyncConnection[Any], now: datetime | None, *, by: str) -> Posted | None:
    """In the caller's transaction: some of what is due. None: nothing is."""
    parameters = {"now": now, "limit": SCHEDULES_AT_ONCE}
    rows = await fetch_rows(connection, statement("due_schedules"), parameters)
    if not rows:
        return None
    # Nobody may have a message before it is on disk: a crash would take its due time back, and it would come again.
    await connection.execute("SET LOCAL synchronous_commit = on")
    steps = [(row, _step_of(row)) for row in rows]
    runs = [Run(row, due, error=taken.error) for row, taken in steps for due in taken.due]
    posted = await post_runs(connection, await _not_known(connection, runs), by=by)
    stepped = {"schedule_id": [row.id for row in rows], "next_due_at": [taken.next_due for _, taken in steps]}
    await connection.execute(statement("step_schedules"), stepped)
    return posted


def _step_of(row: Any) -> Step:
    try:
        plan = plan_of(
            cron=row.cron,
            time_zone=row.time_zone,
            every=row.every,
            anchor=row.anchor_at,
            starts_at=row.starts_at,
            ends_at=row.ends_at,
        )
    except ValidationError as refusal:  # this machine does not know its time zone: it stands still until it is changed
        return Step([row.next_due_at], None, error=" ".join(refusal.messages))
    away = None if row.away_from is None else Away(row.away_from, row.away_until)
    most = max(1, min(MESSAGES_AT_ONCE, BYTES_AT_ONCE // (len(row.message) + 1)))
    return step(plan, row.next_due_at, row.moment, missed=row.missed, away=away, most=most)


async def _not_known(connection: AsyncConnection[Any], runs: Sequence[Run]) -> list[Run]:
    asked = {"schedule_id": [run.schedule.id for run in runs], "due_at": [run.due for run in runs]}
    rows = await fetch_rows(connection, statement("runs_known"), asked)
    known = {(row.schedule_id, row.due_at) for row in rows}
    return [run for run in runs if (run.schedule.id, run.due) not in known]


async def post_runs(connection: AsyncConnection[Any], runs: Sequence[Run], *, by: str, by_hand: bool = False) -> Posted:
    """In the caller's transaction: a message for each run, and a record of it."""
    posted = Posted(list(runs))
    queues: dict[tuple[str, tuple[str, ...]], QueueRecord | WillowError] = {}
    for run in runs:
        if run.error is not None:
            continue
        name = (run.schedule.queue, tag_set(run.schedule.tags))
        if name not in queues:
            queues[name] = await _queue(connection, *name, posted)
        found = queues[name]
        if isinstance(found, WillowError):
            run.error = found.message
        else:
            run.request = _request(run, found)
    requests = [run.request for run in runs if run.request is not None]
    copies = {request: request.copies[0] for request in requests}
    admission = Admission(connection, requests, None, by)
    if requests:
        await admission.admit()
    posted.left_notices = bool(admission.dropped)
    for run in runs:
        if run.request is not None and (refusal := admission.refused.get(run.request)) is not None:
            run.error = refusal.message
        elif run.request is not None:
            copy = copies[run.request]
            run.queue_id, run.sequence, run.index = copy.queue.id, copy.sequence, copy.index
            run.duplicate = copy.is_repeat
            posted.arrived[copy.queue.id] += not copy.is_repeat
    await _record(connection, runs, by_hand)
    return posted


async def _queue(
    connection: AsyncConnection[Any], name: str, tags: tuple[str, ...], posted: Posted
) -> QueueRecord | WillowError:
    """The queue, made as a client's first post would make it; or why there is none."""
    if (found := await find_queue(connection, name, tags)) is not None:
        return found
    if not settings.WILLOW.auto_define:
        return no_such_queue(name)
    try:
        queue, is_new = await define_queue(connection, name, tags, {}, NOBODY)
    except WillowError as refusal:
        return refusal
    if is_new:
        posted.made.append(queue.id)
    return queue


def _request(run: Run, queue: QueueRecord) -> PostRequest:
    schedule = run.schedule
    command = Post(
        queues=(schedule.queue,),
        message=bytes(schedule.message),
        priority=schedule.priority,
        ttl=schedule.ttl,
        unique=schedule.unique_key,
    )
    headers = {**schedule.headers, NAME_HEADER: schedule.name, DUE_HEADER: written_moment(run.due)}
    return PostRequest(NobodyPosts(), command, [queue], headers=headers)


def written_moment(moment: datetime) -> str:
    """RFC 3339, in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


async def _record(connection: AsyncConnection[Any], runs: Sequence[Run], by_hand: bool) -> None:
    if not runs:
        return
    columns = {
        "schedule_id": [run.schedule.id for run in runs],
        "due_at": [run.due for run in runs],
        "queue_id": [run.queue_id for run in runs],
        "sequence": [run.sequence for run in runs],
        "index": [run.index for run in runs],
        "duplicate": [run.duplicate for run in runs],
        "error": [run.error for run in runs],
        "by_hand": by_hand,
    }
    await connection.execute(statement("record_runs"), columns)
    schedule_ids = list({run.schedule.id for run in runs})
    await connection.execute(statement("forget_runs"), {"schedule_id": schedule_ids, "kept": KEPT_RUNS})
