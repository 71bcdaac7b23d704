"""Dead letters: what is there, in groups; purging and exporting them. Redriving them is in redrive_jobs.py."""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from psycopg import AsyncConnection

from delivery.inspection.filters import MessageFilter
from delivery.inspection.search import WHOLE_BODY, MessageRow, find_messages
from delivery.moves.message_id import MessageId
from delivery.operating.audit import Operator, audit
from delivery.operating.messages import Choice, describe, messages_drop, queues_of
from delivery.operating.tally import Tally
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement
from queues.definitions import DEAD_SUFFIX, is_dead_letter_name
from queues.models import Queue

GROUP_LOOKED_AT = 20_000  # dead letters of each queue, the newest first
MOST_GROUPS = 1000
EXPORT_PAGE = 200  # messages that are in memory at once


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    queue_id: int
    queue_name: str
    queue_tags: list[str]
    reason: str | None
    signature: str
    messages: int
    first_died_at: datetime | None
    last_died_at: datetime | None
    last_error: str | None
    last_client: str | None
    is_partial: bool  # the queue has older ones, which were not looked at


def dead_letter_queue_ids(*, name: str | None = None, tags: Sequence[str] | None = None) -> tuple[int, ...]:
    """All dead letter queues; or those of a name, with or without `.dead`."""
    queues = Queue.objects.filter(name__endswith=DEAD_SUFFIX)
    if name is not None:
        queues = queues.filter(name=name if name.endswith(DEAD_SUFFIX) else f"{name}{DEAD_SUFFIX}")
    if tags is not None:
        queues = queues.filter(tags=sorted(set(tags)))
    return tuple(queues.order_by("id").values_list("id", flat=True))


def dead_letter_groups(*, queue_ids: Sequence[int] | None = None) -> list[DeadLetterGroup]:
    """The largest groups first. Of each queue, the newest GROUP_LOOKED_AT are looked at."""
    parameters = {
        "queue_id": list(dead_letter_queue_ids() if queue_ids is None else queue_ids),
        "looked_at": GROUP_LOOKED_AT,
        "limit": MOST_GROUPS,
    }

    async def work(connection: AsyncConnection[Any]) -> list[Any]:
        return await fetch_rows(connection, statement("dead_letter_groups"), parameters)

    groups = []
    for row in operate(work):
        values = row._asdict()
        looked_at = values.pop("rows_looked_at")
        groups.append(DeadLetterGroup(**values, is_partial=looked_at >= GROUP_LOOKED_AT))
    return groups


def dead_letters_purge(*, chosen: Choice, by: Operator) -> Tally:
    """Drop dead letters for good. Those that a client is working on stay."""
    check_are_dead_letter_queues(queues_of(chosen))
    return messages_drop(chosen=chosen, by=by)


def check_are_dead_letter_queues(queue_ids: Iterable[int]) -> None:
    """The permission for dead letters does not cover other messages."""
    for queue in Queue.objects.filter(pk__in=queue_ids):
        if not is_dead_letter_name(queue.name):
            raise ValidationError(f"The queue {queue} holds no dead letters.")


def dead_letters_export(*, chosen: MessageFilter, by: Operator) -> Iterator[bytes]:
    """Every dead letter of the filter as a line of JSON, oldest first in each queue."""
    check_are_dead_letter_queues(chosen.queue_ids)
    audit(by=by, action="export dead letters", target="dead letters", details={"chosen": describe(chosen)})
    return _export_lines(chosen)


def _export_lines(chosen: MessageFilter) -> Iterator[bytes]:
    after, is_over = None, False
    while not is_over:
        page = find_messages(chosen, limit=EXPORT_PAGE, after=after, body_bytes=WHOLE_BODY)
        if page.rows:
            yield b"".join(map(_line, page.rows))
        after, is_over = page.next, page.next is None


def _line(row: MessageRow) -> bytes:
    body = row.body or b""
    try:
        shown: dict[str, Any] = {"body": body.decode()}
    except UnicodeDecodeError:
        shown = {"body_base64": base64.b64encode(body).decode()}
    values = {
        "id": str(MessageId(row.queue_id, row.sequence, row.index)),
        "queue": row.queue_name,
        "tags": row.queue_tags,
        "reason": row.dead_reason,
        "error": row.last_error,
        "client": row.last_client,
        "died_at": row.died_at.isoformat() if row.died_at else None,
        "origin_shard": row.origin_queue_id,
        "origin_index": row.origin_index,
        "origin_attempts": row.origin_attempts,
        "priority": row.priority,
        "headers": row.headers,
        "group": row.group_key,
        "unique": row.unique_key,
    }
    return json.dumps(values | shown, ensure_ascii=False).encode() + b"\n"
