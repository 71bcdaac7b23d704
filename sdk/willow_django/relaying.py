"""Bringing the posts of a project's own outbox to the broker.

A post is deleted in the transaction in which it was locked, after the broker has it on disk. If a relay dies between
the two, the post comes again with the same `dedupe`, and the broker knows it.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.utils import timezone
from willow_client import Unauthorized, WillowError, sync

from willow_django.models import OutboxMessage
from willow_django.task_queues import backend_of, make_once

logger = logging.getLogger("willow_django")

AT_ONCE = 200
PERMANENT = ("BadRequest", "TooLarge", "PermissionDenied")
OF_THE_QUEUE = ("Overloaded", "NoObject")  # it is full, or does not exist and is not made: others are not


@dataclass
class Brought:
    done: list[int] = field(default_factory=list)  # posts that the broker has
    error: WillowError | None = None  # why the rest must wait


def relay_all(client: sync.Client, database: str, is_stopped: Callable[[], bool] = lambda: False) -> int:
    """Bring everything that can be brought now. Returns how many posts left the outbox."""
    held: set[str] = set()
    brought = 0
    while not is_stopped():
        held_before = len(held)
        some = relay_some(client, database, held)
        brought += some
        if not some and len(held) == held_before:
            break
    return brought


def relay_some(client: sync.Client, database: str, held: set[str] | None = None) -> int:
    """Bring the oldest posts that no other relay has in hand. Returns how many left the outbox.

    Not those to the queues in `held`. A queue that takes nothing now joins them: its posts stay in order, and others go
    on. If the broker is not there, this raises, and what it had taken before does not come again: by the time that it
    is back, it may have forgotten the post.
    """
    held = set() if held is None else held
    with _locking(database):
        waiting = OutboxMessage.objects.using(database).filter(refused="").exclude(queue__in=held).order_by("id")
        can_skip = connections[database].features.has_select_for_update_skip_locked
        rows = list((waiting.select_for_update(skip_locked=True) if can_skip else waiting)[:AT_ONCE])
        brought = _bring(client, rows, held)
        OutboxMessage.objects.using(database).filter(pk__in=brought.done).delete()
    if brought.error is not None:
        raise brought.error
    return len(brought.done)


def take_up_again(database: str) -> int:
    """What the broker has refused is brought once more, in its old place. Returns how many posts that are."""
    return OutboxMessage.objects.using(database).exclude(refused="").update(refused="")


def _locking(database: str) -> AbstractContextManager[Any]:
    """Where rows cannot be locked, as in SQLite, a transaction would only keep others from writing meanwhile."""
    can_lock = connections[database].features.has_select_for_update_skip_locked
    return transaction.atomic(using=database) if can_lock else nullcontext()


def _bring(client: sync.Client, rows: Iterable[OutboxMessage], held: set[str]) -> Brought:
    brought = Brought()
    for row in rows:
        if row.queue in held:
            continue
        if (backend := backend_of(row.queue)) is not None:
            make_once(client, backend, row.queue)
        try:
            client.post(row.queue, bytes(row.body), dedupe=row.dedupe, **_arguments(row, timezone.now()))
        except Unauthorized as error:  # it has the code of what is refused for good, but another key may come
            brought.error = error
            break
        except WillowError as error:
            if error.code in PERMANENT:
                _refuse(row, error)
            elif error.code in OF_THE_QUEUE:
                logger.warning("Posts to the queue %s wait in the outbox: %s", row.queue, error)
                held.add(row.queue)
            else:
                brought.error = error
                break
        else:
            brought.done.append(row.pk)
    return brought


def _refuse(row: OutboxMessage, error: WillowError) -> None:
    """The broker will never take it: it stays, for people to look at."""
    logger.error("The broker refuses a post to the queue %s: %s", row.queue, error)
    row.refused = str(error)
    row.save(update_fields=["refused"])


def _arguments(row: OutboxMessage, now: datetime) -> dict[str, Any]:
    """A delay began when the application wrote it."""
    arguments = dict(row.arguments)
    if "delay" in arguments:
        arguments["delay"] = max(0.0, arguments["delay"] - (now - row.written_at).total_seconds())
    return arguments
