"""Messages and journal of one queue, a page at a time.

Pages follow an index from where the last one ended; neither table is ever counted or sorted.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import BinaryField, F, Func, IntegerField, Q
from django.db.models.functions import Substr

from delivery.models import Journal, Message
from delivery.states import State

PAGE_ROWS = 100
BODY_BYTES = 80  # that are shown of a body


@dataclass(frozen=True, slots=True)
class Page:
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    next: str | None  # what the next page begins after


MESSAGE_COLUMNS = ("index", "sequence", "state", "priority", "attempts", "posted_at", "available_at", "expires_at",
                   "key", "holder", "lease_until", "last_error", "dead_reason", "size", "beginning")  # fmt: skip
JOURNAL_COLUMNS = ("index", "id", "outcome", "reason", "attempt", "client", "node", "posted_at", "assigned_at",
                   "ended_at", "size", "error")  # fmt: skip


def messages_page(queue_id: int, after: str = "") -> Page:
    """The messages that live in a queue, oldest first. Runs on: message_index_once_per_queue."""
    last_index = int(after) if after.isdigit() else 0
    found = (
        Message.objects.filter(queue_id=queue_id, index__gt=0)
        .filter(index__gt=last_index)
        .annotate(
            size=Func(F("body"), function="octet_length", output_field=IntegerField()),
            beginning=Substr("body", 1, BODY_BYTES, output_field=BinaryField()),
        )
        .order_by("index")
        .values_list(*MESSAGE_COLUMNS)[:PAGE_ROWS]
    )
    rows = [_readable(row) for row in found]
    return Page(MESSAGE_COLUMNS, rows, str(rows[-1][0]) if len(rows) == PAGE_ROWS else None)


def journal_page(queue_id: int, after: str = "") -> Page:
    """What became of a queue's messages, newest first. Runs on: delivery_journal_message."""
    found = Journal.objects.filter(queue_id=queue_id)
    index, _, row_id = after.partition("-")  # a message that was retried has several rows
    if index.isdigit() and row_id.isdigit():
        found = found.filter(Q(index__lt=index) | Q(id__lt=row_id), index__lte=index)
    rows = list(found.order_by("-index", "-id").values_list(*JOURNAL_COLUMNS)[:PAGE_ROWS])
    return Page(JOURNAL_COLUMNS, rows, f"{rows[-1][0]}-{rows[-1][1]}" if len(rows) == PAGE_ROWS else None)


def _readable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    values = dict(zip(MESSAGE_COLUMNS, row, strict=True))
    values["state"] = State(values["state"]).label
    values["beginning"] = bytes(values["beginning"]).decode(errors="replace")
    return tuple(values.values())
