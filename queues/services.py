"""What operators change about queues. A ValidationError says in one sentence what cannot be done, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models.functions import Now

from queues.definitions import (
    CHANGEABLE_SETTINGS,
    MOST_TAGS,
    NAME_RULE,
    TAG_LENGTH,
    default_settings,
    definition_parameters,
    is_name,
    statement,
)
from queues.models import Queue
from queues.setting_rules import check_settings


def queue_create(*, name: str, tags: Iterable[str] = (), chosen: Mapping[str, Any] | None = None) -> Queue:
    """A new queue, with defaults for the settings that were not chosen."""
    tags = list(tags)
    _check_identity(name, tags)
    check_settings(chosen or {})
    parameters = definition_parameters(name, tags, replace(default_settings(name), **(chosen or {})))
    with connection.cursor() as cursor:
        cursor.execute(statement("define"), parameters)
        row = cursor.fetchone()
        columns = [column.name for column in cursor.description or ()]
    if row is None:
        most = settings.WILLOW.max_queue_count
        raise ValidationError(f"There are already {most} queues, which is all that WILLOW_MAX_QUEUE_COUNT allows.")
    made = dict(zip(columns, row, strict=True))
    if not made["created"]:
        raise ValidationError(f"The queue {name} with these tags already exists.")
    return Queue.objects.get(pk=made["id"])


def queue_update(*, queue: Queue, changes: Mapping[str, Any]) -> None:
    """Give settings other values. Nodes go by them within seconds."""
    for name in changes:
        if name not in CHANGEABLE_SETTINGS:
            raise ValidationError(f"`{name}` of a queue cannot be changed.")
    check_settings(changes, kind=queue.kind)
    _change(queue, **changes)


def queue_pause(*, queue: Queue) -> None:
    """Hand out nothing; posts are still accepted."""
    _change(queue, paused=True)


def queue_resume(*, queue: Queue) -> None:
    _change(queue, paused=False)


def _change(queue: Queue, **values: Any) -> None:
    """Only these columns: the counters in the same row move with every post."""
    if not Queue.objects.filter(pk=queue.pk).update(**values, changed_at=Now()):
        raise ValidationError(f"The queue {queue} no longer exists.")


def _check_identity(name: str, tags: list[str]) -> None:
    if not is_name(name):
        raise ValidationError(f"A queue's name must be {NAME_RULE}, not {name!r}.")
    if len(tags) > MOST_TAGS:
        raise ValidationError(f"A queue has at most {MOST_TAGS} tags, not {len(tags)}.")
    for tag in tags:
        if not 0 < len(tag) <= TAG_LENGTH or "\0" in tag:
            raise ValidationError(f"A tag must be a text of 1 to {TAG_LENGTH} characters without NUL, not {tag!r}.")
