"""/api/queues: the queues, their state, and what operators do to them."""

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import may_see, operator_of, require, require_admin, require_any
from api.diagnoses import CausesSerializer, shown_causes
from api.fields import BigInteger, Name, Paging, Seconds, Strict, Tags, page_of
from api.pages import page_of_rows
from api.problems import Conflict
from api.tallies import TallySerializer
from api.views import ApiView, queue_numbered
from clients.models import Permission
from delivery.figures.status import status_of
from delivery.inspection.diagnosis import why_queue
from delivery.inspection.tag_explainer import MATCHES, explain_tags
from delivery.operating import queues as operating
from delivery.operating.permissions import May
from delivery.protocol.errors import Code, WillowError
from queues.definitions import SETTING_NAMES, tag_set
from queues.integer_ranges import INTEGER_MAX
from queues.models import Kind, Overflow, Queue
from queues.setting_rules import LEAST_A_SECOND, MOST_A_SECOND, RATE_RULE


class InFlight(serializers.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=INTEGER_MAX, allow_null=True, required=False, **kwargs)


class QueueSettingsSerializer(Strict):
    """What can be changed about a queue."""

    retry_limit = serializers.IntegerField(
        min_value=0, max_value=INTEGER_MAX, allow_null=True, required=False, help_text="null: never given up."
    )
    heartbeat_timeout = Seconds(required=False, help_text="Seconds; above 0.")
    retry_delay = Seconds(required=False)
    retry_backoff = Seconds(required=False, min_value=1, max_value=100)
    retry_delay_max = Seconds(required=False)
    max_length = BigInteger(min_value=1, allow_null=True, required=False, help_text="null: no bound.")
    overflow = serializers.ChoiceField(choices=Overflow.values, required=False)
    updatable = serializers.BooleanField(required=False)
    keep_bodies = serializers.BooleanField(required=False)
    retention_seconds = Seconds(allow_null=True, required=False)
    retention_count = BigInteger(min_value=1, allow_null=True, required=False)
    retention_acked = serializers.BooleanField(required=False)
    group_in_flight = InFlight(help_text="Claims of one group at a time; null: no bound.")
    max_in_flight = InFlight(help_text="Claims at a time; null: no bound.")
    rate = Seconds(
        min_value=LEAST_A_SECOND,
        max_value=MOST_A_SECOND,
        allow_null=True,
        required=False,
        help_text="Messages a second; null: no bound.",
        error_messages={"min_value": f"This must be {RATE_RULE}."},
    )
    burst = Seconds(
        min_value=1,
        max_value=MOST_A_SECOND,
        allow_null=True,
        required=False,
        help_text="Messages at once after a pause; null: 1, or the rate if that is more.",
    )
    keep_replies = Seconds(allow_null=True, required=False, help_text="null: replies are not kept.")


class NewQueueSerializer(QueueSettingsSerializer):
    name = Name()
    tags = Tags(default=list)
    kind = serializers.ChoiceField(choices=Kind.values, required=False)


class QueueSerializer(serializers.Serializer):
    shard = serializers.IntegerField(help_text="The number of the queue.")
    name = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    kind = serializers.ChoiceField(choices=Kind.values)
    paused = serializers.BooleanField()
    defined_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    newest_index = serializers.IntegerField()
    retry_limit = serializers.IntegerField(allow_null=True)
    heartbeat_timeout = serializers.FloatField()
    retry_delay = serializers.FloatField()
    retry_backoff = serializers.FloatField()
    retry_delay_max = serializers.FloatField()
    max_length = serializers.IntegerField(allow_null=True)
    overflow = serializers.ChoiceField(choices=Overflow.values)
    updatable = serializers.BooleanField()
    keep_bodies = serializers.BooleanField()
    retention_seconds = serializers.FloatField(allow_null=True)
    retention_count = serializers.IntegerField(allow_null=True)
    retention_acked = serializers.BooleanField()
    group_in_flight = serializers.IntegerField(allow_null=True)
    max_in_flight = serializers.IntegerField(allow_null=True)
    rate = serializers.FloatField(allow_null=True)
    burst = serializers.FloatField(allow_null=True)
    keep_replies = serializers.FloatField(allow_null=True)


class QueueDetailSerializer(QueueSerializer):
    """With its number of messages in each state, as in /status/."""

    ready = serializers.IntegerField()
    delayed = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    dead = serializers.IntegerField(help_text="In its dead letter queue.")
    oldest_age = serializers.FloatField(allow_null=True)
    oldest_index = serializers.IntegerField(allow_null=True)
    consumers = serializers.IntegerField()


class QueueArguments(Paging):
    name = Name(required=False, help_text="Exactly this name.")
    prefix = Name(required=False, help_text="Names that begin so.")
    tag = Tags(required=False, help_text="Queues that have all of these.")
    kind = serializers.ChoiceField(choices=Kind.values, required=False)
    paused = serializers.BooleanField(required=False)


class DeletionArguments(Strict):
    force = serializers.BooleanField(
        default=False, help_text="Delete the queue with its messages, including those that clients are working on."
    )


class ExplanationArguments(Strict):
    name = Name()
    tags = Tags(required=False)
    match = serializers.ChoiceField(choices=MATCHES, required=False)


class ExplanationSerializer(serializers.Serializer):
    shard = serializers.IntegerField()
    tags = serializers.ListField(child=serializers.CharField())
    matches = serializers.BooleanField()
    reason = serializers.CharField()


class ExplanationsSerializer(serializers.Serializer):
    results = ExplanationSerializer(many=True)


def shown_queue(queue: Queue) -> dict[str, Any]:
    names = ("name", "tags", "paused", "defined_at", "changed_at", "newest_index", *SETTING_NAMES)
    return {"shard": queue.pk, **{name: getattr(queue, name) for name in names}}


def queue_detail(queue: Queue) -> dict[str, Any]:
    status = status_of(queue.name) or {"queues": []}
    counts = next((one for one in status["queues"] if one["shard"] == queue.pk), None)
    if counts is None:  # made or deleted since the status was taken
        counts = {"indexes": {"oldest": None}, "oldest_age": None}
    names = ("ready", "delayed", "in_flight", "dead", "consumers")
    return {
        **shown_queue(queue),
        **{name: counts.get(name, 0) for name in names},
        "oldest_age": counts["oldest_age"],
        "oldest_index": counts["indexes"]["oldest"],
    }


class QueuesApi(ApiView):
    staff_needs = {"POST": (May.CREATE_QUEUES,)}

    @extend_schema(parameters=[QueueArguments], responses=page_of(QueueSerializer), operation_id="list_queues")
    def get(self, request: Request) -> Response:
        """The queues on which the caller has any grant, by name."""
        asked = self.asked(QueueArguments)
        queues = Queue.objects.select_related("counter")
        if "name" in asked:
            queues = queues.filter(name=asked["name"])
        if "prefix" in asked:
            queues = queues.filter(name__startswith=asked["prefix"])
        if "tag" in asked:
            queues = queues.filter(tags__contains=asked["tag"])
        if "kind" in asked:
            queues = queues.filter(kind=asked["kind"])
        if "paused" in asked:
            queues = queues.filter(paused=asked["paused"])
        page = page_of_rows(
            queues, ("name", "id"), asked, shown=shown_queue, keep=lambda queue: may_see(request, queue.name)
        )
        return Response(page)

    @extend_schema(request=NewQueueSerializer, responses={201: QueueDetailSerializer}, operation_id="create_queue")
    def post(self, request: Request) -> Response:
        """A new queue. Needs `create` on its name."""
        sent = self.sent(NewQueueSerializer)
        name, tags = sent.pop("name"), tag_set(sent.pop("tags"))
        if not may_administer(request, name):
            require(request, Permission.CREATE, [name])
        if Queue.objects.filter(name=name, tags=list(tags)).exists():
            reason = f"The queue {name} with these tags is there already."
            raise WillowError(Code.OBJECT_ALREADY_EXISTS, name, reason)
        queue = operating.queue_create(name=name, tags=tags, chosen=sent, by=operator_of(request))
        return Response(queue_detail(queue), status=201)


def may_administer(request: Request, name: str) -> bool:
    try:
        require(request, Permission.ADMIN, [name])
    except WillowError:
        return False
    return True


class QueueApi(ApiView):
    staff_needs = {"PATCH": (May.CHANGE_QUEUES,), "DELETE": (May.DELETE_QUEUES,)}

    @extend_schema(responses=QueueDetailSerializer, operation_id="show_queue")
    def get(self, request: Request, shard: int) -> Response:
        """One queue, with its messages counted by state."""
        queue = queue_numbered(shard)
        require_any(request, queue.name)
        return Response(queue_detail(queue))

    @extend_schema(request=QueueSettingsSerializer, responses=QueueDetailSerializer, operation_id="change_queue")
    def patch(self, request: Request, shard: int) -> Response:
        """Change settings. Settings that are left out stay as they are."""
        queue = queue_numbered(shard)
        require_admin(request, [queue])
        operating.queue_change(queue=queue, changes=self.sent(QueueSettingsSerializer), by=operator_of(request))
        return Response(queue_detail(queue_numbered(shard)))

    @extend_schema(parameters=[DeletionArguments], responses={200: TallySerializer}, operation_id="delete_queue")
    def delete(self, request: Request, shard: int) -> Response:
        """Delete an empty queue; with `force`, any queue."""
        queue = queue_numbered(shard)
        require_admin(request, [queue])
        forced = self.asked(DeletionArguments)["force"]
        try:
            tally = operating.queue_delete(queue=queue, by=operator_of(request), forced=forced)
        except ValidationError as refusal:
            raise Conflict(" ".join(refusal.messages)) from None
        return Response(tally.as_json())


class QueueActionApi(ApiView):
    """POST without a body."""

    def queue(self, shard: int) -> Queue:
        queue = queue_numbered(shard)
        require_admin(self.request, [queue])
        return queue


class PauseApi(QueueActionApi):
    staff_needs = {"POST": (May.CHANGE_QUEUES,)}

    @extend_schema(request=None, responses=QueueDetailSerializer, operation_id="pause_queue")
    def post(self, request: Request, shard: int) -> Response:
        """Stop handing out messages. Posts are still accepted."""
        operating.queue_pause(queue=self.queue(shard), by=operator_of(request))
        return Response(queue_detail(queue_numbered(shard)))


class ResumeApi(QueueActionApi):
    staff_needs = {"POST": (May.CHANGE_QUEUES,)}

    @extend_schema(request=None, responses=QueueDetailSerializer, operation_id="resume_queue")
    def post(self, request: Request, shard: int) -> Response:
        """Hand out messages again."""
        operating.queue_resume(queue=self.queue(shard), by=operator_of(request))
        return Response(queue_detail(queue_numbered(shard)))


class PurgeApi(QueueActionApi):
    staff_needs = {"POST": (May.PURGE_QUEUES,)}

    @extend_schema(request=None, responses=TallySerializer, operation_id="purge_queue")
    def post(self, request: Request, shard: int) -> Response:
        """Drop all messages that no client holds."""
        return Response(operating.queue_purge(queue=self.queue(shard), by=operator_of(request)).as_json())


class QueueWhyApi(ApiView):
    @extend_schema(responses=OpenApiResponse(CausesSerializer), operation_id="why_queue")
    def get(self, request: Request, shard: int) -> Response:
        """Why the messages of this queue do not move."""
        queue = queue_numbered(shard)
        require_admin(request, [queue])
        return Response(shown_causes(why_queue(queue)))


class ExplainTagsApi(ApiView):
    @extend_schema(parameters=[ExplanationArguments], responses=ExplanationsSerializer, operation_id="explain_tags")
    def get(self, request: Request) -> Response:
        """Which queues of a name match a reader's tags and match mode, and why the others do not."""
        asked = self.asked(ExplanationArguments)
        require_any(request, asked["name"])
        explained = explain_tags(name=asked["name"], tags=asked.get("tags", ()), match=asked.get("match"))
        results = [
            {"shard": one.queue.pk, "tags": one.queue.tags, "matches": one.matches, "reason": one.reason}
            for one in explained
        ]
        return Response({"results": results})
