"""What operators do to schedules: make, change, switch off and on, delete, run now. Audited, and the reapers told."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from psycopg import AsyncConnection

from delivery.operating.announcing import NAME, Announcements
from delivery.operating.audit import Operator, audit
from delivery.schedules.models import Schedule, ScheduleRun
from delivery.schedules.plan import A_MOMENT, Plan, plan_of
from delivery.schedules.rules import DEFAULTS, FIELDS, check_schedule
from delivery.schedules.runs import Posted, Run, post_runs
from delivery.schedules.watch import CHANGED
from delivery.storage.on_django import operate
from queues.definitions import tag_set

COLUMNS = {"unique": "unique_key"}  # of fields that are called otherwise in the database
MOST_SCHEDULES = 10_000
PLAN_FIELDS = frozenset({"cron", "time_zone", "every", "starts_at", "ends_at", "enabled"})
NOT_IN_AUDIT = frozenset({"message", "headers"})
MOST_UPCOMING = 100


def values_of(schedule: Schedule) -> dict[str, Any]:
    """Its fields, by the names of the protocol."""
    values = {field: getattr(schedule, COLUMNS.get(field, field)) for field in FIELDS}
    return {**values, "message": bytes(schedule.message)}


@transaction.atomic
def schedule_create(*, values: Mapping[str, Any], by: Operator) -> Schedule:
    wanted = {**DEFAULTS, **values}
    for field in ("name", "queue", "message"):
        if field not in wanted:
            raise ValidationError({field: "This field is required."})
    check_schedule(wanted)
    if Schedule.objects.count() >= MOST_SCHEDULES:
        raise ValidationError(f"There are {MOST_SCHEDULES:,} schedules already, which is the most.")
    now = database_now()
    schedule = Schedule(**_columns(wanted), anchor_at=now, created_at=now, changed_at=now)
    schedule.next_due_at = _next_due(schedule, now)
    try:
        with transaction.atomic():
            schedule.save(force_insert=True)
    except IntegrityError:
        raise already_there(schedule.name) from None
    audit(by=by, action="create schedule", target=schedule.name, details={"fields": _shown(wanted)})
    _tell_reapers()
    return schedule


def already_there(name: str) -> ValidationError:
    return ValidationError({"name": f"There is a schedule {name} already."}, code="exists")


@transaction.atomic
def schedule_change(*, schedule: Schedule, changes: Mapping[str, Any], by: Operator) -> Schedule:
    """Fields that are not named stay. What is due while a schedule is off is not missed: it is not due."""
    current = _locked(schedule)
    before = values_of(current)
    wanted = {**before, **changes}
    check_schedule(wanted)
    if wanted["name"] != before["name"]:
        raise ValidationError({"name": "The name of a schedule cannot be changed."})
    changed = {field for field in FIELDS if wanted[field] != before[field]}
    if not changed:
        return current
    now = database_now()
    for column, value in _columns(wanted).items():
        setattr(current, column, value)
    current.changed_at = now
    if changed & PLAN_FIELDS:
        if "every" in changed:
            current.anchor_at = now
        current.next_due_at = _next_due(current, _unposted_since(current, changed, now))
    current.save()
    audit(
        by=by,
        action="change schedule",
        target=current.name,
        details={"fields": _shown({field: wanted[field] for field in sorted(changed)})},
    )
    _tell_reapers()
    return current


@transaction.atomic
def schedule_delete(*, schedule: Schedule, by: Operator) -> None:
    """Messages that it has posted stay."""
    _locked(schedule).delete()
    audit(by=by, action="delete schedule", target=schedule.name)


@transaction.atomic
def schedule_run(*, schedule: Schedule, by: Operator) -> ScheduleRun:
    """Post its message now, once, beside the plan."""
    told = Announcements()
    current = _locked(schedule)
    run = Run(current, database_now())

    async def work(connection: AsyncConnection[Any]) -> Posted:
        return await post_runs(connection, [run], by=NAME, by_hand=True)

    posted = operate(work)
    if run.error is not None:
        raise ValidationError(run.error)
    told.queues_changed(*posted.made)
    for queue_id, messages in posted.arrived.items():
        told.became_ready(queue_id, messages)
    if posted.left_notices:
        told.notices_left()
    audit(by=by, action="run schedule", target=current.name, messages=posted.arrived.total())
    told.send()
    return ScheduleRun.objects.filter(schedule=current, by_hand=True).latest("id")


def preview(values: Mapping[str, Any], *, count: int, of: Schedule | None = None) -> list[datetime]:
    """The next due times that a schedule with these values would have, on or off. `of`: the one that is changed."""
    wanted = {**DEFAULTS, "name": "preview", "queue": "preview", "message": b"", **values}
    check_schedule(wanted)
    now = database_now()
    anchor = now if of is None or of.every != wanted["every"] else of.anchor_at
    return _plan(wanted, anchor).upcoming(now, count)


def _plan(values: Mapping[str, Any], anchor: datetime) -> Plan:
    names = ("cron", "time_zone", "every", "starts_at", "ends_at")
    return plan_of(**{name: values[name] for name in names}, anchor=anchor)


def upcoming(schedule: Schedule, *, count: int) -> list[datetime]:
    """The next due times, as if it were on. What is due and not posted yet comes first."""
    now = database_now()
    following = schedule.plan.upcoming(now, count)
    late = [] if schedule.next_due_at is None or schedule.next_due_at > now else [schedule.next_due_at]
    return [*late, *following][:count]


def database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now


def _next_due(schedule: Schedule, after: datetime) -> datetime | None:
    return schedule.plan.next_after(after) if schedule.enabled else None


def _unposted_since(schedule: Schedule, changed: set[str], now: datetime) -> datetime:
    """Another plan begins now. With another end it is the same plan: what is due and not posted yet stays due."""
    waits = schedule.next_due_at is not None and schedule.next_due_at <= now and changed & PLAN_FIELDS == {"ends_at"}
    return schedule.next_due_at - A_MOMENT if waits and schedule.next_due_at is not None else now


def _locked(schedule: Schedule) -> Schedule:
    current = Schedule.objects.select_for_update().filter(pk=schedule.pk).first()
    if current is None:
        raise ValidationError(f"The schedule {schedule.name} is gone.")
    return current


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    columns = {COLUMNS.get(field, field): values[field] for field in FIELDS}
    return {**columns, "tags": list(tag_set(values["tags"])), "headers": dict(values["headers"])}


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """For the audit, which holds no bodies."""
    shown = {field: value for field, value in values.items() if field not in NOT_IN_AUDIT}
    return {field: value.isoformat() if isinstance(value, datetime) else value for field, value in shown.items()}


def _tell_reapers() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"NOTIFY {CHANGED}")
