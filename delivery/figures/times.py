"""How long messages of one queue wait and are worked on: recent times from the journal, older ones from the facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from delivery.facts.models import QueueFact
from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement

SLOT_SECONDS = 30
SLOTS = 30  # a quarter of an hour
MOST_ROWS = 20_000  # of the journal that are looked at

PERCENTILES = ("wait_p50", "wait_p95", "work_p50", "work_p95")
COUNTS = ("posted", "finished", "popped", "failed", "dead")


@dataclass(frozen=True, slots=True)
class History:
    """By time slot, oldest first."""

    begins: list[datetime]
    per_minute: dict[str, list[float | None]]
    seconds: dict[str, list[float | None]]
    is_empty: bool


def recent_times(queue_id: int) -> dict[str, list[float | None]]:
    """Each of PERCENTILES for every slot of the last quarter of an hour, oldest first; None where nothing ended."""
    with bounded_cursor() as cursor:
        parameters = {
            "queue_id": queue_id, "slot": SLOT_SECONDS, "seconds": SLOTS * SLOT_SECONDS, "most": MOST_ROWS,
        }  # fmt: skip
        cursor.execute(statement("recent_times"), parameters)
        found = {slot: values for slot, *values in cursor.fetchall()}
    slots = recent_slots()
    return {
        name: [_number(found[slot][place]) if slot in found else None for slot in slots]
        for place, name in enumerate(PERCENTILES)
    }


def recent_slots() -> list[int]:
    last = int(timezone.now().timestamp() // SLOT_SECONDS)
    return list(range(last - SLOTS + 1, last + 1))


def history(queue_id: int, *, grain: str, step: timedelta, steps: int) -> History:
    """From the facts: so many slots of one grain, up to the present one."""
    begins = _begins(step, steps)
    facts = {
        fact.bucket: fact for fact in QueueFact.objects.filter(queue_id=queue_id, grain=grain, bucket__gte=begins[0])
    }
    minutes = step / timedelta(minutes=1)
    return History(
        begins,
        {name: [_count(facts.get(begin), name) / minutes for begin in begins] for name in COUNTS},
        {name: [getattr(facts.get(begin), name, None) for begin in begins] for name in PERCENTILES},
        is_empty=not facts,
    )


def _begins(step: timedelta, steps: int) -> list[datetime]:
    now = timezone.now()
    seconds = step.total_seconds()
    last = datetime.fromtimestamp(now.timestamp() // seconds * seconds, tz=now.tzinfo)
    return [last - step * back for back in range(steps - 1, -1, -1)]


def _count(fact: QueueFact | None, name: str) -> float:
    return float(getattr(fact, name, 0) or 0)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def latest(values: Sequence[float | None]) -> float | None:
    """The newest known value."""
    return next((value for value in reversed(values) if value is not None), None)
