"""An operator changes one message that waits."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from psycopg import AsyncConnection

from delivery.moves.message_id import MessageId
from delivery.moves.waiting import rewrite
from delivery.operating.audit import Operator, audited
from delivery.operating.messages import describe
from delivery.storage.on_django import operate
from queues.models import Queue


def message_rewrite(*, one: MessageId, body: str, priority: int, by: Operator) -> None:
    """Give it another body and priority; refused if it no longer waits."""
    content = body.encode()
    if len(content) > settings.WILLOW.max_body_bytes:
        raise ValidationError(f"A body has at most {settings.WILLOW.max_body_bytes:,} bytes, not {len(content):,}.")

    async def work(connection: AsyncConnection[Any]) -> bool:
        return await rewrite(connection, one, body=content, priority=priority)

    queue = Queue.objects.filter(pk=one.queue_id).first()
    details = {"chosen": describe([one]), "bytes": len(content), "priority": priority}
    with audited(by=by, action="change message", target=str(queue or one.queue_id), details=details) as tally:
        if not operate(work):
            raise ValidationError("The message no longer waits: a client holds it, it has ended, or it is a request.")
        tally.done = 1
