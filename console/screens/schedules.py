"""Schedules: when each is due, what came of its last runs, and what operators do to them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from console.asking import Question, answer
from console.frame import attempt, demand, page, screen
from console.live.parts import Part
from console.schedule_forms import ScheduleForm
from delivery.figures.schedules import LATE_SECONDS, all_schedules
from delivery.inspection.message import body_views
from delivery.operating.audit import staff
from delivery.operating.permissions import May
from delivery.operating.schedules import (
    database_now,
    preview,
    schedule_change,
    schedule_create,
    schedule_delete,
    schedule_run,
    upcoming,
)
from delivery.schedules.models import Schedule

SHOWN_RUNS = 20
SHOWN_TIMES = 5
MOST_LISTED = 500


def read_schedules(given: QueryDict) -> dict[str, Any]:
    search = given.get("search", "")
    rows = all_schedules(search=search, limit=MOST_LISTED)
    return {"schedules": rows, "search": search, "is_cut": len(rows) == MOST_LISTED}


def read_schedule(given: QueryDict, number: int) -> dict[str, Any]:
    schedule = get_object_or_404(Schedule, pk=number)
    now = database_now()
    late = schedule.next_due_at is not None and (now - schedule.next_due_at).total_seconds() > LATE_SECONDS
    return {
        "schedule": schedule,
        "late_seconds": (now - schedule.next_due_at).total_seconds() if late and schedule.next_due_at else None,
        "times": _times(schedule, upcoming(schedule, count=SHOWN_TIMES)),
        "runs": list(schedule.runs.order_by("-id")[:SHOWN_RUNS]),
    }


def _times(schedule: Schedule, due: list[datetime]) -> list[tuple[datetime, datetime]]:
    """Each in UTC and in the schedule's zone."""
    zone = schedule.plan.zone
    return [(moment, moment.astimezone(zone)) for moment in due]


SCHEDULES = Part("console/parts/schedules.html", read_schedules)
SCHEDULE = Part("console/parts/schedule.html", read_schedule)


def _crumbs() -> list[dict[str, str]]:
    return [{"title": "Schedules", "link": reverse("console:schedules")}]


@screen(May.LOOK, live=SCHEDULES)
def schedules(request: HttpRequest) -> HttpResponse:
    lead = "Messages that are posted by the clock. Each due time is posted once, however many reapers run."
    return page(request, "console/schedules.html", title="Schedules", part=SCHEDULES, lead=lead)


@screen(May.LOOK, live=SCHEDULE)
def schedule(request: HttpRequest, number: int) -> HttpResponse:
    found = get_object_or_404(Schedule, pk=number)
    body = bytes(found.message)
    return page(
        request,
        "console/schedule.html",
        title=found.name,
        part=SCHEDULE,
        breadcrumbs=_crumbs(),
        body=body_views(body, len(body)),
    )


@screen(May.CHANGE_SCHEDULES)
def schedule_new(request: HttpRequest) -> HttpResponse:
    form = ScheduleForm(request.POST or None)

    def save(values: dict[str, Any]) -> Schedule:
        return schedule_create(values=values, by=staff(request.user))

    return _edit(request, form, save, title="New schedule", back=reverse("console:schedules"))


@screen(May.CHANGE_SCHEDULES)
def schedule_edit(request: HttpRequest, number: int) -> HttpResponse:
    demand(request, May.SEE_BODIES)  # the form shows the message
    found = get_object_or_404(Schedule, pk=number)
    form = ScheduleForm(request.POST or None, schedule=found)

    def save(values: dict[str, Any]) -> Schedule:
        return schedule_change(schedule=found, changes=values, by=staff(request.user))

    back = reverse("console:schedule", args=[number])
    return _edit(request, form, save, title=f"Change {found.name}", back=back, found=found)


def _edit(
    request: HttpRequest,
    form: ScheduleForm,
    save: Callable[[dict[str, Any]], Schedule],
    *,
    title: str,
    back: str,
    found: Schedule | None = None,
) -> HttpResponse:
    """`Preview` shows the next due times of what is filled in, and saves nothing."""
    times: list[tuple[datetime, datetime]] | None = None
    if request.method == "POST" and form.is_valid():
        try:
            if "preview" in request.POST:
                due = preview(form.values, count=SHOWN_TIMES, of=found)
                times = _times(Schedule(time_zone=form.values["time_zone"], every=1), due)
            else:
                saved = save(form.values)
                attempt(request, lambda: f"The schedule {saved.name} is saved.")
                return redirect("console:schedule", saved.pk)
        except ValidationError as refusal:
            form.refuse(refusal)
    return page(
        request, "console/schedule_form.html", title=title, form=form, back=back, times=times, breadcrumbs=_crumbs()
    )


@screen(May.CHANGE_SCHEDULES)
def schedule_run_asked(request: HttpRequest, number: int) -> HttpResponse:
    found = get_object_or_404(Schedule, pk=number)

    def run() -> str:
        ran = schedule_run(schedule=found, by=staff(request.user))
        if ran.duplicate:
            return f"Nothing was posted: message {ran.index}, with the same unique text, still lives."
        return f"Posted message {ran.index} to {found.queue}."

    says = [f"Its message is posted to {found.queue} now, once. The plan stays as it is."]
    return _answer(request, found, Question(title=f"Run {found.name} now", says=says, button="Run now"), run)


@screen(May.CHANGE_SCHEDULES)
def schedule_switch_asked(request: HttpRequest, number: int) -> HttpResponse:
    found = get_object_or_404(Schedule, pk=number)
    turn_on = not found.enabled
    button = "Resume" if turn_on else "Pause"
    says = (
        "It is due again by its plan, from now on."
        if turn_on
        else "Nothing is posted until it is resumed. What would have been due meanwhile is not made up for."
    )

    def switch() -> str:
        schedule_change(schedule=found, changes={"enabled": turn_on}, by=staff(request.user))
        return f"{found.name} is {'on' if turn_on else 'paused'}."

    return _answer(request, found, Question(title=f"{button} {found.name}", says=[says], button=button), switch)


@screen(May.CHANGE_SCHEDULES)
def schedule_delete_asked(request: HttpRequest, number: int) -> HttpResponse:
    found = get_object_or_404(Schedule, pk=number)

    def delete() -> str:
        schedule_delete(schedule=found, by=staff(request.user))
        return f"{found.name} is deleted."

    says = ["The schedule is removed, with the record of its runs. Messages that it has posted stay."]
    question = Question(title=f"Delete {found.name}", says=says, button="Delete", destroys=True)
    return answer(request, question, delete, back=reverse("console:schedules"))


def _answer(request: HttpRequest, found: Schedule, question: Question, act: Callable[[], str]) -> HttpResponse:
    return answer(request, question, act, back=reverse("console:schedule", args=[found.pk]))
