"""Reads about services, for the console."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection
from django.db.models import Case, QuerySet, When

from delivery.serving.models import Worker
from delivery.storage.statements import statement

WINDOW_SECONDS = 3600.0  # over which answers are counted


@dataclass(frozen=True, slots=True)
class Figures:
    """How a service is doing. The latencies are from the request to its reply, over the last hour."""

    queue_id: int
    waiting: int
    under_way: int
    answered: int
    median_seconds: float | None
    slow_seconds: float | None


def service_figures(queue_ids: Iterable[int]) -> dict[int, Figures]:
    with connection.cursor() as cursor:
        cursor.execute(statement("service_figures"), {"queue_id": list(queue_ids), "seconds": WINDOW_SECONDS})
        return {row[0]: Figures(*row) for row in cursor.fetchall()}


def workers_of(queue_id: int) -> QuerySet[Worker]:
    """First those in the line, the next one at the head; then those that have no slot free."""
    occupied = Case(When(free__gt=0, then=0), default=1)
    return Worker.objects.filter(queue_ids__contains=[queue_id]).order_by(occupied, "waited_since")
