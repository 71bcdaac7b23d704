"""/api/dead-letters: what died, in groups and one by one; purging, exporting and redriving it."""

from typing import Any

from django.core.exceptions import ValidationError
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import operator_of, require, require_admin, require_bodies_for_text
from api.fields import BigInteger, Paging, Seconds, page_of
from api.filters import (
    ChosenDeadLetters,
    DeadLetterConditions,
    chosen_dead_letter_queues,
    message_filter,
    queues_of_ids,
)
from api.messages import MOST_BYTES, SHOWN_BYTES, MessageSerializer, page_of_messages, shown_message
from api.pages import page_of_rows
from api.problems import Conflict
from api.tallies import TallySerializer
from api.views import ApiView, found, queue_numbered
from clients.models import Permission
from clients.rest import principal_of
from delivery.gateway.streamed_answers import as_they_come
from delivery.inspection.search import MessageRow
from delivery.models import RedriveJob
from delivery.moves.message_id import MessageId
from delivery.moves.states import Reason
from delivery.operating import dead_letters as operating
from delivery.operating import redrive_jobs as redrive
from delivery.operating.messages import Choice
from delivery.operating.models import JobState
from delivery.operating.permissions import May
from delivery.protocol.errors import Code, WillowError
from queues.definitions import DEAD_SUFFIX
from queues.models import Queue


class DeadLetterSerializer(MessageSerializer):
    reason = serializers.CharField(allow_null=True, help_text=f"Mostly one of {', '.join(Reason.values)}.")
    died_at = serializers.DateTimeField(allow_null=True)
    origin_shard = serializers.IntegerField(allow_null=True)
    origin_index = serializers.IntegerField(allow_null=True)
    origin_attempts = serializers.IntegerField(allow_null=True)


class DeadLetterArguments(Paging, DeadLetterConditions):
    body_bytes = serializers.IntegerField(min_value=0, max_value=MOST_BYTES, default=SHOWN_BYTES)


class GroupSerializer(serializers.Serializer):
    shard = serializers.IntegerField()
    queue = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField(allow_null=True)
    signature = serializers.CharField(allow_blank=True, help_text="What the errors have in common.")
    messages = serializers.IntegerField()
    first_died_at = serializers.DateTimeField(allow_null=True)
    last_died_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    last_client = serializers.CharField(allow_null=True)
    is_partial = serializers.BooleanField(help_text="The queue has older dead letters, which were not counted.")


class GroupsSerializer(serializers.Serializer):
    results = GroupSerializer(many=True)


class RedriveSerializer(ChosenDeadLetters):
    to = BigInteger(
        required=False,
        help_text="The number of another queue. Without it, each message goes back to the queue it came from.",
    )
    rate = Seconds(
        required=False, allow_null=True, min_value=0.001, max_value=1_000_000, help_text="Messages a second."
    )
    undo_seconds = Seconds(
        default=redrive.UNDO_SECONDS,
        max_value=redrive.LONGEST_UNDO_SECONDS,
        help_text="For this long, messages that nobody has taken yet can be brought back.",
    )


class DryRunSerializer(serializers.Serializer):
    messages = serializers.IntegerField(help_text="That would be moved.")
    by_target = serializers.DictField(child=serializers.IntegerField())
    without_target = serializers.IntegerField(help_text="Their queue is gone.")
    held = serializers.IntegerField(help_text="A client is working on them.")
    more = serializers.BooleanField()


class JobSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(choices=JobState.values)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    to = serializers.IntegerField(allow_null=True)
    rate = serializers.FloatField(allow_null=True)
    total = serializers.IntegerField()
    moved = serializers.IntegerField()
    skipped = serializers.IntegerField()
    failed = serializers.IntegerField()
    returned = serializers.IntegerField()
    problem = serializers.CharField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    undo_until = serializers.DateTimeField()


def administered(request: Request, queues: list[Queue], asked: dict[str, Any]) -> list[Queue]:
    """The queues that the caller may operate. A caller who names a queue is refused if it may not."""
    if "queue" in asked:
        require(request, Permission.ADMIN, [asked["queue"]])
    if "shard" in asked or "queue" in asked:
        require_admin(request, queues)
        return queues
    principal = principal_of(request)
    allowed = [queue for queue in queues if principal.may(Permission.ADMIN.value, queue.name)]
    if not allowed and not principal.is_operator:
        require(request, Permission.ADMIN, ["*" + DEAD_SUFFIX])
    return allowed


def asked_queues(request: Request, asked: dict[str, Any]) -> list[Queue]:
    require_bodies_for_text(request, asked)
    return administered(request, chosen_dead_letter_queues(asked), asked)


def shown_dead_letter(row: MessageRow) -> dict[str, Any]:
    return {
        **shown_message(row),
        "reason": row.dead_reason,
        "died_at": row.died_at,
        "origin_shard": row.origin_queue_id,
        "origin_index": row.origin_index,
        "origin_attempts": row.origin_attempts,
    }


class DeadLettersApi(ApiView):
    @extend_schema(
        parameters=[DeadLetterArguments], responses=page_of(DeadLetterSerializer), operation_id="list_dead_letters"
    )
    def get(self, request: Request) -> Response:
        """Dead letters that a filter chooses, oldest first in each queue."""
        asked = self.asked(DeadLetterArguments)
        queues = asked_queues(request, asked)
        return Response(page_of_messages(request, asked, message_filter(asked, queues), shown_dead_letter))


class GroupsApi(ApiView):
    @extend_schema(parameters=[DeadLetterConditions], responses=GroupsSerializer, operation_id="dead_letter_groups")
    def get(self, request: Request) -> Response:
        """Dead letters by queue, reason and error signature, largest groups first. The filter only chooses queues."""
        queues = asked_queues(request, self.asked(DeadLetterConditions))
        names = ("reason", "signature", "messages", "first_died_at", "last_died_at", "last_error", "last_client",
                 "is_partial")  # fmt: skip
        results = [
            {
                "shard": group.queue_id,
                "queue": group.queue_name,
                "tags": group.queue_tags,
                **{name: getattr(group, name) for name in names},
            }
            for group in operating.dead_letter_groups(queue_ids=[queue.pk for queue in queues])
        ]
        return Response({"results": results})


class DeadLettersActionApi(ApiView):
    staff_needs = {"POST": (May.REDRIVE,)}

    def chosen(self, sent: dict[str, Any]) -> Choice:
        """The messages of the action, as far as the caller may act on them."""
        if "filter" in sent:
            return message_filter(sent["filter"], asked_queues(self.request, sent["filter"]))
        require_admin(self.request, queues_of_ids(sent["ids"]))
        ids: list[MessageId] = sent["ids"]
        return ids


class PurgeDeadLettersApi(DeadLettersActionApi):
    @extend_schema(request=ChosenDeadLetters, responses=TallySerializer, operation_id="purge_dead_letters")
    def post(self, request: Request) -> Response:
        """Drop dead letters for good."""
        chosen = self.chosen(self.sent(ChosenDeadLetters))
        return Response(operating.dead_letters_purge(chosen=chosen, by=operator_of(request)).as_json())


class NdjsonRenderer(JSONRenderer):
    """So that callers can ask for this media type; the view itself writes the lines."""

    media_type = "application/x-ndjson"
    format = "ndjson"


class ExportApi(ApiView):
    staff_needs = {"GET": (May.SEE_BODIES, May.REDRIVE)}
    renderer_classes = [NdjsonRenderer, JSONRenderer]

    @extend_schema(
        parameters=[DeadLetterConditions],
        responses={(200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR)},
        operation_id="export_dead_letters",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Dead letters with their whole bodies, a line of JSON each."""
        asked = self.asked(DeadLetterConditions)
        chosen = message_filter(asked, asked_queues(request, asked))
        lines = operating.dead_letters_export(chosen=chosen, by=operator_of(request))
        return StreamingHttpResponse(as_they_come(lines), content_type="application/x-ndjson")


class RedrivesApi(DeadLettersActionApi):
    @extend_schema(parameters=[Paging], responses=page_of(JobSerializer), operation_id="list_redrives")
    def get(self, request: Request) -> Response:
        """Redrives, the newest first."""
        page = page_of_rows(
            RedriveJob.objects.all(),
            ("-id",),
            self.asked(Paging),
            shown=shown_job,
            keep=lambda job: _may_administer(request, job),
        )
        return Response(page)

    @extend_schema(request=RedriveSerializer, responses={201: JobSerializer}, operation_id="start_redrive")
    def post(self, request: Request) -> Response:
        """Start a redrive of dead letters. The reaper runs it; the answer is the job."""
        sent = self.sent(RedriveSerializer)
        chosen, target = redrive_wish(self, sent)
        job = redrive.redrive_start(
            chosen=chosen,
            target=target,
            rate=sent.get("rate"),
            undo_seconds=sent["undo_seconds"],
            by=operator_of(request),
        )
        job.refresh_from_db()
        return Response(shown_job(job), status=201)


class DryRunApi(DeadLettersActionApi):
    @extend_schema(request=RedriveSerializer, responses=DryRunSerializer, operation_id="dry_run_redrive")
    def post(self, request: Request) -> Response:
        """What a redrive would do."""
        chosen, target = redrive_wish(self, self.sent(RedriveSerializer))
        result = redrive.redrive_dry_run(chosen=chosen, target=target)
        names = ("messages", "by_target", "without_target", "held", "more")
        return Response({name: getattr(result, name) for name in names})


def redrive_wish(view: DeadLettersActionApi, sent: dict[str, Any]) -> tuple[Choice, Queue | None]:
    """A redrive puts messages into other queues, so the caller needs `admin` on those too."""
    chosen = view.chosen(sent)
    target = queue_numbered(sent["to"]) if "to" in sent else None
    if target is not None:
        require_admin(view.request, [target])
    else:
        numbers = {one.queue_id for one in chosen} if isinstance(chosen, list) else chosen.queue_ids  # type: ignore[union-attr]
        dead = Queue.objects.filter(pk__in=numbers)
        require(view.request, Permission.ADMIN, sorted(queue.name.removesuffix(DEAD_SUFFIX) for queue in dead))
    return chosen, target


class RedriveApi(ApiView):
    def job(self, number: int) -> RedriveJob:
        job = found(RedriveJob.objects.filter(pk=number).first(), str(number), f"There is no redrive {number}.")
        if not _may_administer(self.request, job):
            raise WillowError(Code.PERMISSION_DENIED, str(number), "This needs `admin` on all queues of the redrive.")
        return job

    @extend_schema(responses=JobSerializer, operation_id="show_redrive")
    def get(self, request: Request, number: int) -> Response:
        """How far a redrive has come."""
        return Response(shown_job(self.job(number)))


class CancelRedriveApi(RedriveApi):
    staff_needs = {"POST": (May.REDRIVE,)}
    http_method_names = ["post", "options"]

    @extend_schema(request=None, responses=JobSerializer, operation_id="cancel_redrive")
    def post(self, request: Request, number: int) -> Response:
        """Stop a redrive. Messages that were moved stay moved."""
        return Response(_changed(self.job(number), redrive.redrive_cancel, request))


class UndoRedriveApi(RedriveApi):
    staff_needs = {"POST": (May.REDRIVE,)}
    http_method_names = ["post", "options"]

    @extend_schema(request=None, responses=JobSerializer, operation_id="undo_redrive")
    def post(self, request: Request, number: int) -> Response:
        """Bring back the messages that it moved and that nobody has taken yet."""
        return Response(_changed(self.job(number), redrive.redrive_undo, request))


def _changed(job: RedriveJob, change: Any, request: Request) -> dict[str, Any]:
    try:
        change(job=job, by=operator_of(request))
    except ValidationError as refusal:
        raise Conflict(" ".join(refusal.messages)) from None
    job.refresh_from_db()
    return shown_job(job)


def _queues_of(job: RedriveJob) -> list[Queue]:
    numbers = {queue_id for queue_id, _ in job.bounds} | {MessageId.read(text).queue_id for text in job.ids or ()}
    return list(Queue.objects.filter(pk__in=numbers))


def _may_administer(request: Request, job: RedriveJob) -> bool:
    principal = principal_of(request)
    queues = _queues_of(job)
    return principal.is_operator or (
        bool(queues) and all(principal.may(Permission.ADMIN.value, queue.name) for queue in queues)
    )


def shown_job(job: RedriveJob) -> dict[str, Any]:
    names = ("id", "state", "created_at", "created_by", "rate", "total", "moved", "skipped", "failed", "returned",
             "problem", "ended_at", "undo_until")  # fmt: skip
    return {**{name: getattr(job, name) for name in names}, "to": job.target_queue_id}
