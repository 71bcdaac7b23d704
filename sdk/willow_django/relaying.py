"""Bringing the posts of a project's own outbox to the broker.

A post is deleted in the transaction in which it was locked, after the broker has it on disk. If a relay dies between
the two, the post comes again with the same `dedupe`, and the broker knows it.
"""

import logging
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.utils import timezone
from willow_client import WillowError, sync

from willow_django.models import OutboxMessage

logger = logging.getLogger("willow_django")

AT_ONCE = 200
PERMANENT = ("BadRequest", "TooLarge", "PermissionDenied")


def relay_some(client: sync.Client, database: str) -> int:
    """Bring the oldest posts that no other relay has in hand. Returns how many left the outbox."""
    with transaction.atomic(using=database):
        waiting = OutboxMessage.objects.using(database).filter(refused="").order_by("id")
        can_skip = connections[database].features.has_select_for_update_skip_locked
        rows = list((waiting.select_for_update(skip_locked=True) if can_skip else waiting)[:AT_ONCE])
        done = [row.pk for row in rows if _brought(client, row)]
        OutboxMessage.objects.using(database).filter(pk__in=done).delete()
    return len(done)


def _brought(client: sync.Client, row: OutboxMessage) -> bool:
    """Whether the broker has it. One that it will never take is marked; raises if the broker is not there."""
    try:
        client.post(row.queue, bytes(row.body), dedupe=row.dedupe, **_arguments(row, timezone.now()))
    except WillowError as error:
        if error.code not in PERMANENT:
            raise
        logger.error("The broker refuses a post to the queue %s: %s", row.queue, error)
        row.refused = str(error)
        row.save(update_fields=["refused"])
        return False
    return True


def _arguments(row: OutboxMessage, now: datetime) -> dict[str, Any]:
    """A delay began when the application wrote it."""
    arguments = dict(row.arguments)
    if "delay" in arguments:
        arguments["delay"] = max(0.0, arguments["delay"] - (now - row.written_at).total_seconds())
    return arguments
