"""Redriving dead letters: the jobs, which the reaper works off (redrive_steps.py)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from delivery.inspection.filters import MessageFilter
from delivery.inspection.index_walk import BY_INDEX
from delivery.inspection.search import find_ids
from delivery.moves.message_id import MOST_IDS, MessageId, id_columns, with_indexes
from delivery.moves.states import UNCLAIMED
from delivery.operating.audit import Operator, audit
from delivery.operating.dead_letters import check_are_dead_letter_queues
from delivery.operating.messages import Choice, describe
from delivery.operating.models import JobState, RedriveJob
from delivery.operating.redrive_steps import find_origins, written_criteria
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement
from queues.definitions import QueueRecord
from queues.models import Kind, Queue, QueueCounter

UNDO_SECONDS = 3600.0
LONGEST_UNDO_SECONDS = 7 * 86_400.0
MOST_COUNTED = 100_000  # dead letters that are counted before a job starts
COUNT_SECONDS = 5.0  # that counting them may take


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
    movable = [row for row in rows if row.state in UNCLAIMED]
    if target is not None:
        by_target = Counter({str(target): len(movable)})
        missing = 0
    else:
        found = operate(lambda connection: find_origins(connection, movable))
        targets = [found.get((row.queue_id, row.origin_queue_id)) for row in movable]
        by_target = Counter(_shown(target) for target in targets if target is not None)
        missing = sum(target is None for target in targets)
    return DryRun(len(movable) - missing, dict(by_target), missing, len(rows) - len(movable), more)


def redrive_start(
    *,
    chosen: Choice,
    by: Operator,
    target: Queue | None = None,
    rate: float | None = None,
    undo_seconds: float = UNDO_SECONDS,
) -> RedriveJob:
    """Dead letters go to the end of the queues they came from, or of another queue, with all attempts left.

    What dies after this moment is not part of the job.
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
            criteria=written_criteria(bounded) if isinstance(bounded, MessageFilter) else {},
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


@transaction.atomic
def redrive_cancel(*, job: RedriveJob, by: Operator) -> None:
    """Messages that were moved stay moved, and the redrive can be undone."""
    changed = RedriveJob.objects.filter(pk=job.pk, state=JobState.RUNNING).update(
        state=JobState.CANCELLED, ended_at=Now()
    )
    if not changed:
        raise ValidationError(f"The {job} is not running any more.")
    audit(by=by, action="cancel redrive", target=str(job))


@transaction.atomic
def redrive_undo(*, job: RedriveJob, by: Operator) -> None:
    """Bring back the messages that were moved and that nobody has taken yet."""
    changed = RedriveJob.objects.filter(
        pk=job.pk, state__in=[JobState.DONE, JobState.CANCELLED], undo_until__gt=Now()
    ).update(state=JobState.UNDOING, ended_at=None)
    if not changed:
        raise ValidationError(
            f"The {job} cannot be undone: it is still running, was undone, or its time limit for undoing has passed."
        )
    audit(by=by, action="undo redrive", target=str(job))


def _bounded(chosen: Choice) -> Choice:
    """Restricted to the messages that are in dead letter queues now."""
    if not isinstance(chosen, MessageFilter):
        ids = list(dict.fromkeys(chosen))
        if len(ids) > MOST_IDS:
            raise ValidationError(f"At most {MOST_IDS} messages can be chosen one by one, not {len(ids)}.")
        check_are_dead_letter_queues({one.queue_id for one in ids})
        return operate(lambda connection: with_indexes(connection, ids))
    check_are_dead_letter_queues(chosen.queue_ids)
    if chosen.sequence is not None:
        return find_ids(chosen, limit=MOST_IDS).rows
    counters = QueueCounter.objects.filter(pk__in=chosen.queue_ids).order_by("pk")
    return replace(chosen, bounds=dict(counters.values_list("pk", "newest_index")))


def _count(chosen: Choice) -> tuple[list[Any], bool]:
    """The messages, as far as they are counted, and whether there are more."""
    if not isinstance(chosen, MessageFilter):
        return _read(chosen), False
    page = find_ids(chosen, order=BY_INDEX, limit=MOST_COUNTED, seconds=COUNT_SECONDS)
    return _read(page.rows), page.next is not None


def _read(ids: Sequence[MessageId]) -> list[Any]:
    return operate(lambda connection: fetch_rows(connection, statement("dead_letters_by_id"), id_columns(ids)))


def _shown(queue: QueueRecord) -> str:
    return f"{queue.name} [{', '.join(queue.tags)}]" if queue.tags else queue.name
