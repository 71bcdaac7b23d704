"""`manage.py schedule`: messages that are posted by the clock. docs/schedules.md tells how to use it."""

import json
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive

from delivery.management.sentences import sentences_of
from delivery.operating.audit import at_shell
from delivery.operating.schedules import (
    MOST_UPCOMING,
    schedule_change,
    schedule_create,
    schedule_delete,
    schedule_run,
    upcoming,
    values_of,
)
from delivery.schedules.models import Missed, Schedule

COLUMNS = ("NAME", "STATE", "PLAN", "QUEUE", "NEXT (UTC)", "LAST RUN")
NOTHING = "-"


class Command(BaseCommand):
    help = "Creates, lists, changes, pauses, resumes, runs and deletes schedules."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(metavar="ACTION", required=True)
        listing = actions.add_parser("list", help="list schedules, with when they are due")
        listing.set_defaults(act=self._list)
        create = actions.add_parser("create", help="create a schedule")
        create.add_argument("name")
        _add_fields(create)
        create.set_defaults(act=self._create)
        change = actions.add_parser("change", help="change some fields of a schedule")
        change.add_argument("name")
        _add_fields(change)
        change.set_defaults(act=self._change)
        for name, act, about in (
            ("show", self._show, "print a schedule as JSON"),
            ("pause", self._pause, "post nothing until it is resumed"),
            ("resume", self._resume, "post by its plan again"),
            ("run", self._run, "post its message now, once, beside its plan"),
            ("delete", self._delete, "delete a schedule; its messages stay"),
        ):
            action = actions.add_parser(name, help=about)
            action.add_argument("name")
            action.set_defaults(act=act)
        following = actions.add_parser("next", help="print when a schedule is due next, in its time zone")
        following.add_argument("name")
        following.add_argument("--count", type=int, default=5)
        following.set_defaults(act=self._next)

    def handle(self, *args: Any, act: Callable[..., None], **options: Any) -> None:
        try:
            act(**options)
        except ValidationError as refusal:
            raise CommandError(sentences_of(refusal)) from None

    def _list(self, **common: Any) -> None:
        rows = [COLUMNS, *(_row(schedule) for schedule in Schedule.objects.defer("message").order_by("name"))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(padded).rstrip())

    def _create(self, *, name: str, **options: Any) -> None:
        schedule = schedule_create(values={"name": name, **_given(options)}, by=at_shell())
        self.stdout.write(_state_told(schedule))

    def _change(self, *, name: str, **options: Any) -> None:
        schedule = schedule_change(schedule=_named(name), changes=_given(options), by=at_shell())
        self.stdout.write(_state_told(schedule))

    def _show(self, *, name: str, **common: Any) -> None:
        values = values_of(_named(name))
        values["message"] = values["message"].decode(errors="replace")
        self.stdout.write(json.dumps(values, indent=2, ensure_ascii=False, default=str))

    def _pause(self, *, name: str, **common: Any) -> None:
        schedule_change(schedule=_named(name), changes={"enabled": False}, by=at_shell())
        self.stdout.write(f"The schedule {name} is paused.")

    def _resume(self, *, name: str, **common: Any) -> None:
        schedule = schedule_change(schedule=_named(name), changes={"enabled": True}, by=at_shell())
        self.stdout.write(_state_told(schedule))

    def _run(self, *, name: str, **common: Any) -> None:
        run = schedule_run(schedule=_named(name), by=at_shell())
        what = "still lives, so nothing was posted" if run.duplicate else "is posted"
        self.stdout.write(f"Message {run.queue_id}/{run.sequence}, index {run.index}, {what}.")

    def _delete(self, *, name: str, **common: Any) -> None:
        schedule_delete(schedule=_named(name), by=at_shell())
        self.stdout.write(f"The schedule {name} is deleted.")

    def _next(self, *, name: str, count: int, **common: Any) -> None:
        if not 1 <= count <= MOST_UPCOMING:
            raise CommandError(f"--count must be a number from 1 to {MOST_UPCOMING}.")
        schedule = _named(name)
        for due in upcoming(schedule, count=count):
            self.stdout.write(due.astimezone(schedule.plan.zone).isoformat())


def _add_fields(parser: CommandParser) -> None:
    parser.add_argument("--queue")
    parser.add_argument("--tag", action="append", dest="tags", help="may be repeated")
    parser.add_argument("--message", type=str.encode, help="the body")
    parser.add_argument("--header", action="append", dest="headers", metavar="NAME=VALUE", help="may be repeated")
    parser.add_argument("--priority", type=int)
    parser.add_argument("--ttl", type=float, metavar="SECONDS")
    parser.add_argument("--unique", metavar="TEXT")
    parser.add_argument("--cron", help="such as '30 2 * * mon-fri' or @hourly")
    parser.add_argument("--time-zone", help="such as Europe/Vienna")
    parser.add_argument("--every", type=float, metavar="SECONDS")
    parser.add_argument("--starts-at", help="such as 2030-01-31T12:00:00Z")
    parser.add_argument("--ends-at")
    parser.add_argument("--missed", choices=Missed.values)


GIVEN = ("queue", "tags", "message", "headers", "priority", "ttl", "unique", "cron", "time_zone", "every", "starts_at",
         "ends_at", "missed")  # fmt: skip


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The fields that were given. One kind of plan takes the place of the other."""
    given = {name: options[name] for name in GIVEN if options.get(name) is not None}
    if "headers" in given:
        given["headers"] = dict(_header(text) for text in given["headers"])
    for name in ("starts_at", "ends_at"):
        if name in given:
            given[name] = _moment(name, given[name])
    if ("cron" in given) != ("every" in given):
        given = {"cron": None, "every": None} | given
    return given


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValidationError({"headers": f"This must be NAME=VALUE, not {text!r}."})
    return name, value


def _moment(field: str, text: str) -> Any:
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or is_naive(moment):
        raise ValidationError({field: f"This must be a time with its zone, as 2030-01-31T12:00:00Z, not {text!r}."})
    return moment


def _named(name: str) -> Schedule:
    schedule = Schedule.objects.filter(name=name).first()
    if schedule is None:
        raise ValidationError(f"There is no schedule {name}.")
    return schedule


def _row(schedule: Schedule) -> tuple[str, ...]:
    last = schedule.runs.order_by("-id").first()
    plan = f"{schedule.cron} ({schedule.time_zone})" if schedule.cron else f"every {schedule.every:g} s"
    state = "paused" if not schedule.enabled else "on" if schedule.next_due_at else "over"
    ran = NOTHING if last is None else f"{last.ran_at:%Y-%m-%d %H:%M:%S}{' (not posted)' if last.error else ''}"
    return (schedule.name, state, plan, schedule.queue, _written(schedule.next_due_at), ran)


def _state_told(schedule: Schedule) -> str:
    if not schedule.enabled:
        return f"The schedule {schedule.name} is paused."
    if schedule.next_due_at is None:
        return f"The schedule {schedule.name} is over: it is not due any more."
    return f"The schedule {schedule.name} is due {_written(schedule.next_due_at)} UTC."


def _written(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else NOTHING
