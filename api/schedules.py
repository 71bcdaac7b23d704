"""/api/schedules: messages that are posted by the clock, and what operators do to their plans."""

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import may_see_bodies, operator_of, require
from api.fields import BodyField, Headers, Name, Paging, Priority, Seconds, Strict, Tags, page_of, shown_body
from api.pages import page_of_rows
from api.views import ApiView, found
from clients.models import Permission
from clients.rest import principal_of
from delivery.operating import schedules as operating
from delivery.operating.permissions import May
from delivery.protocol.errors import Code, WillowError
from delivery.schedules.models import Missed, Schedule, ScheduleRun
from delivery.schedules.rules import DEFAULTS, FIELDS
from queues.definitions import is_name

USUAL_TIMES = 5


class PlanSerializer(Strict):
    """What can be changed about a schedule. Bodies are texts, or lists of byte values."""

    queue = Name(required=False)
    tags = Tags(required=False)
    message = BodyField(required=False)
    headers = Headers(required=False)
    priority = Priority(required=False)
    ttl = Seconds(required=False, allow_null=True)
    unique = serializers.CharField(required=False, allow_null=True, min_length=1, max_length=200, trim_whitespace=False)
    cron = serializers.CharField(required=False, allow_null=True, max_length=200)
    time_zone = serializers.CharField(required=False, max_length=100)
    every = Seconds(required=False, allow_null=True, min_value=1)
    starts_at = serializers.DateTimeField(required=False, allow_null=True)
    ends_at = serializers.DateTimeField(required=False, allow_null=True)
    enabled = serializers.BooleanField(required=False)
    missed = serializers.ChoiceField(choices=Missed.values, required=False)


class ReplacedScheduleSerializer(PlanSerializer):
    name = Name(required=False, help_text="Must be the name in the address.")
    queue = Name()
    message = BodyField()


class NewScheduleSerializer(PlanSerializer):
    name = Name()
    queue = Name()
    message = BodyField()


class RunSerializer(serializers.Serializer):
    due_at = serializers.DateTimeField()
    ran_at = serializers.DateTimeField()
    by_hand = serializers.BooleanField(help_text="By `run`, and not by the plan.")
    shard = serializers.IntegerField(allow_null=True)
    sequence = serializers.IntegerField(allow_null=True)
    index = serializers.IntegerField(allow_null=True)
    duplicate = serializers.BooleanField(help_text="Not stored: a message with its `unique` lived.")
    error = serializers.CharField(allow_null=True, help_text="Not stored, and why.")


class ScheduleSerializer(serializers.Serializer):
    name = serializers.CharField()
    queue = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    message = BodyField(allow_null=True, help_text="null if the caller may not see bodies.")
    headers = Headers()
    priority = serializers.IntegerField()
    ttl = serializers.FloatField(allow_null=True)
    unique = serializers.CharField(allow_null=True)
    cron = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField()
    every = serializers.FloatField(allow_null=True)
    starts_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    enabled = serializers.BooleanField()
    missed = serializers.ChoiceField(choices=Missed.values)
    next_due_at = serializers.DateTimeField(allow_null=True, help_text="null: switched off, or over.")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    last_run = RunSerializer(allow_null=True)


class NextArguments(Strict):
    count = serializers.IntegerField(min_value=1, max_value=operating.MOST_UPCOMING, default=USUAL_TIMES)


class NextSerializer(serializers.Serializer):
    next = serializers.ListField(child=serializers.DateTimeField(), help_text="In UTC, whether it is on or off.")
    local = serializers.ListField(child=serializers.CharField(), help_text="The same in its time zone.")


def shown_run(run: ScheduleRun) -> dict[str, Any]:
    names = ("due_at", "ran_at", "by_hand", "sequence", "index", "duplicate", "error")
    return {"shard": run.queue_id, **{name: getattr(run, name) for name in names}}


def shown_schedule(schedule: Schedule, *, with_body: bool) -> dict[str, Any]:
    last = schedule.runs.order_by("-id").first()
    return {
        **operating.values_of(schedule),
        "message": shown_body(bytes(schedule.message)) if with_body else None,
        **{name: getattr(schedule, name) for name in ("next_due_at", "created_at", "changed_at")},
        "last_run": None if last is None else shown_run(last),
    }


def require_some_admin(request: Request) -> None:
    """For the list: whoever administers no queue at all has no business with schedules."""
    if not any(Permission.ADMIN.value in permissions for _, permissions in principal_of(request).grants):
        raise WillowError(Code.PERMISSION_DENIED, "schedules", "This needs the grant `admin`, or a staff login.")


def as_values(sent: dict[str, Any]) -> dict[str, Any]:
    if isinstance(sent.get("message"), str):
        sent["message"] = sent["message"].encode()
    return sent


class ScheduleView(ApiView):
    def schedule(self, name: str) -> Schedule:
        """The schedule that was asked for, after checking that the caller may ask."""
        require_some_admin(self.request)
        row = Schedule.objects.filter(name=name).first() if is_name(name) else None
        schedule = found(row, name, f"There is no schedule {name}.")
        require(self.request, Permission.ADMIN, [schedule.queue])
        return schedule

    def answer(self, schedule: Schedule, status: int = 200) -> Response:
        return Response(shown_schedule(schedule, with_body=may_see_bodies(self.request)), status=status)


class SchedulesApi(ScheduleView):
    staff_needs = {"POST": (May.CHANGE_SCHEDULES,)}

    @extend_schema(parameters=[Paging], responses=page_of(ScheduleSerializer), operation_id="list_schedules")
    def get(self, request: Request) -> Response:
        """The schedules that post to queues which the caller administers, by name."""
        require_some_admin(request)
        with_body, principal = may_see_bodies(request), principal_of(request)
        page = page_of_rows(
            Schedule.objects.all(),
            ("name",),
            self.asked(Paging),
            shown=lambda schedule: shown_schedule(schedule, with_body=with_body),
            keep=lambda schedule: principal.may(Permission.ADMIN.value, schedule.queue),
        )
        return Response(page)

    @extend_schema(request=NewScheduleSerializer, responses={201: ScheduleSerializer}, operation_id="create_schedule")
    def post(self, request: Request) -> Response:
        """A new schedule. Needs `admin` on its queue."""
        sent = as_values(self.sent(NewScheduleSerializer))
        require(request, Permission.ADMIN, [sent["queue"]])
        try:
            schedule = operating.schedule_create(values=sent, by=operator_of(request))
        except ValidationError as refusal:
            if Schedule.objects.filter(name=sent["name"]).exists() and "name" in getattr(refusal, "error_dict", ()):
                reason = f"There is a schedule {sent['name']} already."
                raise WillowError(Code.OBJECT_ALREADY_EXISTS, sent["name"], reason) from None
            raise
        return self.answer(schedule, 201)


class ScheduleApi(ScheduleView):
    staff_needs = dict.fromkeys(("PUT", "PATCH", "DELETE"), (May.CHANGE_SCHEDULES,))

    @extend_schema(responses=ScheduleSerializer, operation_id="show_schedule")
    def get(self, request: Request, name: str) -> Response:
        """One schedule."""
        return self.answer(self.schedule(name))

    @extend_schema(request=ReplacedScheduleSerializer, responses=ScheduleSerializer, operation_id="replace_schedule")
    def put(self, request: Request, name: str) -> Response:
        """Give a schedule other values; fields that are left out get their defaults."""
        schedule = self.schedule(name)
        sent = as_values(self.sent(ReplacedScheduleSerializer))
        return self._changed(schedule, {**DEFAULTS, **sent})

    @extend_schema(request=PlanSerializer, responses=ScheduleSerializer, operation_id="change_schedule")
    def patch(self, request: Request, name: str) -> Response:
        """Change some fields. Fields that are left out stay as they are."""
        schedule = self.schedule(name)
        return self._changed(schedule, as_values(self.sent(PlanSerializer)))

    def _changed(self, schedule: Schedule, changes: dict[str, Any]) -> Response:
        if "queue" in changes:
            require(self.request, Permission.ADMIN, [changes["queue"]])
        known = {field: value for field, value in changes.items() if field in FIELDS}
        return self.answer(operating.schedule_change(schedule=schedule, changes=known, by=operator_of(self.request)))

    @extend_schema(responses={204: None}, operation_id="delete_schedule")
    def delete(self, request: Request, name: str) -> Response:
        """Delete a schedule. Messages that it has posted stay."""
        operating.schedule_delete(schedule=self.schedule(name), by=operator_of(request))
        return Response(status=204)


class RunScheduleApi(ScheduleView):
    staff_needs = {"POST": (May.CHANGE_SCHEDULES,)}

    @extend_schema(request=None, responses={201: RunSerializer}, operation_id="run_schedule")
    def post(self, request: Request, name: str) -> Response:
        """Post the schedule's message now, once, beside its plan."""
        run = operating.schedule_run(schedule=self.schedule(name), by=operator_of(request))
        return Response(shown_run(run), status=201)


class NextTimesApi(ScheduleView):
    @extend_schema(parameters=[NextArguments], responses=NextSerializer, operation_id="next_times_of_schedule")
    def get(self, request: Request, name: str) -> Response:
        """When the schedule is due next."""
        schedule = self.schedule(name)
        times = operating.upcoming(schedule, count=self.asked(NextArguments)["count"])
        zone = schedule.plan.zone
        return Response({"next": times, "local": [time.astimezone(zone).isoformat() for time in times]})
