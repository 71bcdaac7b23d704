"""What operators do to queues. The changes are in queues/services.py; here they are audited, and the nodes told."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now

from clients.models import Position
from delivery.engine.waiters import MOST_PLACES_AT_ONCE
from delivery.inspection.filters import MessageFilter
from delivery.moves.message_id import MessageId
from delivery.moves.models import DedupeValue, EndedCount, Message, RateBucket, Regrouping, TouchedGroup
from delivery.moves.states import State
from delivery.operating.announcing import Announcements
from delivery.operating.audit import Operator, audit, audited
from delivery.operating.messages import act_on_filter, drop_batch
from delivery.operating.tally import BATCH, MOST_MESSAGES, Budget, Tally
from delivery.storage.on_django import operate
from delivery.wakeups.hints import POLLS_TO_BE_SURE
from queues import services as definitions
from queues.models import Queue, QueueCounter, Tag

UNHELD = frozenset(State) - {State.CLAIMED}
FORCED_BATCHES = 20  # in the transaction that deletes a queue: messages that clients hold, and those posted meanwhile


@transaction.atomic
def queue_create(
    *, name: str, tags: Iterable[str] = (), chosen: Mapping[str, Any] | None = None, by: Operator
) -> Queue:
    queue = definitions.queue_create(name=name, tags=tags, chosen=chosen)
    audit(by=by, action="create queue", target=str(queue), details={"settings": dict(chosen or {})})
    _tell_of_change(queue)
    return queue


@transaction.atomic
def queue_change(*, queue: Queue, changes: Mapping[str, Any], by: Operator) -> None:
    definitions.queue_update(queue=queue, changes=changes)
    if "group_in_flight" in changes:
        _regroup(queue)
    audit(by=by, action="change queue", target=str(queue), details={"settings": dict(changes)})
    _tell_of_change(queue)


def _regroup(queue: Queue) -> None:
    """The reaper goes through its groups, until every node goes by the change."""
    until = Now() + timedelta(seconds=settings.WILLOW.poll_seconds * POLLS_TO_BE_SURE)
    Regrouping.objects.update_or_create(queue_id=queue.pk, defaults={"after_group": "", "until": until})


@transaction.atomic
def queue_pause(*, queue: Queue, by: Operator) -> None:
    definitions.queue_pause(queue=queue)
    audit(by=by, action="pause queue", target=str(queue))
    _tell_of_change(queue)


@transaction.atomic
def queue_resume(*, queue: Queue, by: Operator) -> None:
    """Clients that wait are served at once."""
    definitions.queue_resume(queue=queue)
    audit(by=by, action="resume queue", target=str(queue))
    _tell_of_change(queue, wake=True)


@transaction.atomic
def tag_describe(*, tag: Tag, description: str, by: Operator) -> None:
    """Say what a tag means."""
    Tag.objects.filter(pk=tag.pk).update(description=description)
    audit(by=by, action="describe tag", target=tag.name, details={"description": description})


def queue_purge(*, queue: Queue, by: Operator, limit: int = MOST_MESSAGES) -> Tally:
    """Drop all messages that no client holds. `more` in the answer: some are left, repeat it."""
    with audited(by=by, action="purge queue", target=str(queue)) as tally:
        tally.add(_purge(queue, Budget(limit)))
    return tally


def queue_delete(*, queue: Queue, by: Operator, forced: bool = False) -> Tally:
    """Remove an empty queue; or, forced, any queue with all that it holds, also what clients are working on.

    Its name and tags may be used again, by a queue with another number.
    """
    with audited(by=by, action="delete queue", target=str(queue), details={"forced": forced}) as tally:
        if forced:
            tally.add(_purge(queue, Budget()))
            if tally.more:
                raise ValidationError(
                    f"{tally.done} messages of the queue {queue} were dropped, and there are more; delete it again."
                )
        tally.done += _delete(queue, forced=forced)
        tally.skipped.clear()  # what the purge could not drop is gone now too
    return tally


def _delete(queue: Queue, *, forced: bool) -> int:
    """Returns how many messages had to be dropped for it."""
    told = Announcements()
    with transaction.atomic():
        # The row that every post locks first: nothing arrives from here to the commit.
        if QueueCounter.objects.select_for_update().filter(pk=queue.pk).first() is None:
            raise ValidationError(f"The queue {queue} is gone already.")
        dropped = _drop_held(queue, told) if forced else 0
        if Message.objects.filter(queue_id=queue.pk).exists():
            raise ValidationError(f"The queue {queue} holds messages; only an empty queue can be deleted.")
        for left_over in (EndedCount, DedupeValue, RateBucket, Regrouping, TouchedGroup, Position):
            left_over.objects.filter(queue_id=queue.pk).delete()
        Queue.objects.filter(pk=queue.pk).delete()
        told.queues_changed(queue.pk)
        told.send()
    return dropped


def _purge(queue: Queue, budget: Budget) -> Tally:
    return act_on_filter(MessageFilter(queue_ids=(queue.pk,)), drop_batch, budget, UNHELD)


def _drop_held(queue: Queue, told: Announcements) -> int:
    dropped = 0
    for _ in range(FORCED_BATCHES):
        waiting = Message.objects.filter(queue_id=queue.pk).order_by("index")
        left = waiting.values_list("queue_id", "sequence", "index")[:BATCH]
        ids = [MessageId(*numbers) for numbers in left]
        if not ids:
            break
        dropped += _drop_by_force(ids, told)
    return dropped


def _drop_by_force(ids: list[MessageId], told: Announcements) -> int:
    done, _ = operate(lambda connection: drop_batch(connection, ids, told, forced=True))
    return len(done)


def _tell_of_change(queue: Queue, *, wake: bool = False) -> None:
    told = Announcements()
    told.queues_changed(queue.pk)
    if wake:
        told.became_ready(queue.pk, MOST_PLACES_AT_ONCE)
    told.send()
