"""How many messages died lately."""

from collections.abc import Iterable
from typing import Any

from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement

LATELY_SECONDS = 3600
MOST_COUNTED = 1000  # in each queue


def died_lately(queue_ids: Iterable[int]) -> dict[int, int]:
    """By dead letter queue: how many of its messages died within the hour. MOST_COUNTED means at least that many."""
    with bounded_cursor() as cursor:
        parameters: dict[str, Any] = {"queue_id": list(queue_ids), "seconds": LATELY_SECONDS, "most": MOST_COUNTED}
        cursor.execute(statement("dead_lately"), parameters)
        return dict(cursor.fetchall())
