"""Every queue with its counts."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from delivery.moves.service_names import is_service_queue
from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement
from queues.definitions import is_dead_letter_name
from queues.models import Kind

SECONDS = 5.0  # that reading all queues may take


@dataclass(frozen=True, slots=True)
class QueueFigures:
    id: int
    name: str
    tags: list[str]
    kind: str
    paused: bool
    max_length: int | None
    newest_index: int
    live: int
    claimed: int
    delayed: int
    consumers: int
    oldest_age: float | None  # seconds that the oldest claimable message has waited

    @property
    def is_stream(self) -> bool:
        return self.kind == Kind.STREAM

    @property
    def ready(self) -> int:
        """The counts are from different moments, so the difference could be negative."""
        return 0 if self.is_stream else max(self.live - self.claimed - self.delayed, 0)

    @property
    def retained(self) -> int:
        return self.live if self.is_stream else 0

    @property
    def is_dead_letters(self) -> bool:
        return is_dead_letter_name(self.name)

    @property
    def is_service(self) -> bool:
        return is_service_queue(self.name)

    @property
    def is_unconsumed(self) -> bool:
        """Whether messages wait that no client reads. Dead letters wait for people."""
        return not self.consumers and self.ready > 0 and not self.is_dead_letters

    def __str__(self) -> str:
        return f"{self.name} [{', '.join(self.tags)}]" if self.tags else self.name


def all_queue_figures() -> list[QueueFigures]:
    """By name and tags."""
    with bounded_cursor(SECONDS) as cursor:
        cursor.execute(statement("queue_figures"), {"lapse": settings.WILLOW.node_lapse})
        columns = [column.name for column in cursor.description]
        return [QueueFigures(**_typed(dict(zip(columns, row, strict=True)))) for row in cursor.fetchall()]


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: int(row[name]) for name in ("live", "claimed", "delayed", "consumers")}
