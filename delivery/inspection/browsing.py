"""The journal of one queue, a page at a time. Messages are found by delivery/inspection/search.py.

Pages follow an index from where the last one ended; the table is never counted or sorted.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from delivery.moves.models import Journal

PAGE_ROWS = 100


@dataclass(frozen=True, slots=True)
class Page:
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    next: str | None  # what the next page begins after


JOURNAL_COLUMNS = ("index", "id", "outcome", "reason", "attempt", "client", "node", "posted_at", "assigned_at",
                   "ended_at", "size", "error")  # fmt: skip


def journal_page(queue_id: int, after: str = "") -> Page:
    """What became of a queue's messages, newest first. Runs on: delivery_journal_message."""
    found = Journal.objects.filter(queue_id=queue_id)
    index, _, row_id = after.partition("-")  # a message that was retried has several rows
    if index.isdigit() and row_id.isdigit():
        found = found.filter(Q(index__lt=index) | Q(id__lt=row_id), index__lte=index)
    rows = list(found.order_by("-index", "-id").values_list(*JOURNAL_COLUMNS)[:PAGE_ROWS])
    return Page(JOURNAL_COLUMNS, rows, f"{rows[-1][0]}-{rows[-1][1]}" if len(rows) == PAGE_ROWS else None)
