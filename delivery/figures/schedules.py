"""Schedules, as people look at them: what is due when, and what is late."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.schedules.models import Schedule, ScheduleRun

LATE_SECONDS = 10.0  # behind its time: more than a reaper needs
MOST_LATE = 100


@dataclass(frozen=True, slots=True)
class ScheduleFigures:
    schedule: Schedule
    last_run: ScheduleRun | None
    local: datetime | None  # when it is due next, in its own time zone
    late_seconds: float | None


def all_schedules(*, search: str = "", limit: int) -> list[ScheduleFigures]:
    """By name."""
    found = list(Schedule.objects.filter(name__icontains=search).defer("message").order_by("name")[:limit])
    newest = ScheduleRun.objects.filter(schedule__in=found).order_by("schedule_id", "-id").distinct("schedule_id")
    last = {run.schedule_id: run for run in newest}
    now = _database_now()
    return [_figures(schedule, last.get(schedule.pk), now) for schedule in found]


def late_schedules() -> list[tuple[str, float]]:
    """Names of schedules that should have run, the latest first, and how late they are."""
    now = _database_now()
    rows = Schedule.objects.filter(next_due_at__lt=now).order_by("next_due_at").values_list("name", "next_due_at")
    late = [(name, (now - due).total_seconds()) for name, due in rows[:MOST_LATE] if due is not None]
    return [(name, seconds) for name, seconds in late if seconds > LATE_SECONDS]


def _figures(schedule: Schedule, last_run: ScheduleRun | None, now: datetime) -> ScheduleFigures:
    due = schedule.next_due_at
    late = None if due is None or (now - due).total_seconds() <= LATE_SECONDS else (now - due).total_seconds()
    return ScheduleFigures(schedule, last_run, due and due.astimezone(schedule.plan.zone), late)


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now
