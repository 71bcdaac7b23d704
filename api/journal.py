"""/api/journal: what became of messages."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import may_see_bodies, require_admin, require_operator
from api.fields import BigInteger, BodyField, Headers, Name, Paging, page_of, shown_body
from api.filters import QueueChoice
from api.messages import administered_queues
from api.pages import answered_page, asked_cursor
from api.views import ApiView
from delivery.inspection.journal import LIST, JournalFilter, journal_page
from delivery.moves.states import Outcome
from queues.models import Queue

REASONS = ("failed", "timeout", "disconnected", "expired", "overflow", "retention", "operator", "cancelled")


class JournalSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    shard = serializers.IntegerField()
    queue = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    index = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=Outcome.values)
    reason = serializers.ChoiceField(choices=REASONS, allow_null=True)
    attempt = serializers.IntegerField()
    priority = serializers.IntegerField()
    poster = serializers.IntegerField(allow_null=True, help_text="Session that posted the message.")
    session = serializers.IntegerField(allow_null=True, help_text="Session that had the message.")
    client = serializers.CharField(allow_null=True)
    node = serializers.CharField(allow_null=True)
    posted_at = serializers.DateTimeField()
    assigned_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField()
    size = serializers.IntegerField()
    error = serializers.CharField(allow_null=True)
    headers = Headers(allow_null=True, help_text="Where the queue keeps bodies, for whoever may see them.")
    body = BodyField(allow_null=True, help_text="Where the queue keeps bodies; null for staff who may not see them.")


class JournalArguments(Paging, QueueChoice):
    index = BigInteger(required=False, help_text="One message. Needs a queue.")
    outcome = serializers.ChoiceField(choices=Outcome.values, required=False)
    reason = serializers.ChoiceField(choices=REASONS, required=False)
    client = Name(required=False)
    ended_before = serializers.DateTimeField(required=False)
    ended_after = serializers.DateTimeField(required=False)
    header = serializers.CharField(
        min_length=1, max_length=128, required=False, help_text="The name of a header, where the queue keeps bodies."
    )


def shown_row(row: Any, *, with_body: bool) -> dict[str, Any]:
    names = ("id", "index", "outcome", "reason", "attempt", "priority", "poster", "client", "node", "posted_at",
             "assigned_at", "ended_at", "size", "error")  # fmt: skip
    return {
        "shard": row.queue_id,
        "queue": row.queue_name,
        "tags": row.queue_tags,
        "session": row.holder,
        "headers": (row.extras or {}).get("headers") if with_body else None,
        "body": shown_body(row.body) if with_body else None,
        **{name: getattr(row, name) for name in names},
    }


class JournalApi(ApiView):
    @extend_schema(parameters=[JournalArguments], responses=page_of(JournalSerializer), operation_id="list_journal")
    def get(self, request: Request) -> Response:
        """The journal, newest first: of one queue, or of all queues for operators. A short page may not be the last."""
        asked = self.asked(JournalArguments)
        queue_id = self._queue_id(request, asked)
        if queue_id is None and "index" in asked:
            raise serializers.ValidationError({"index": "An index belongs to a queue: name the queue too."})
        names = ("index", "outcome", "reason", "client", "ended_before", "ended_after", "header")
        chosen = JournalFilter(queue_id=queue_id, **{name: asked.get(name) for name in names})
        page = journal_page(chosen=chosen, after=asked_cursor(asked, of=LIST), limit=asked["limit"])
        with_body = may_see_bodies(request)
        return Response(answered_page(page, lambda row: shown_row(row, with_body=with_body), of=LIST))

    def _queue_id(self, request: Request, asked: dict[str, Any]) -> int | None:
        """The number of the queue that was asked for. Operators can also read the journal of a deleted queue."""
        if "shard" in asked:
            queue = Queue.objects.filter(pk=asked["shard"]).first()
            if queue is None:
                require_operator(request)
            else:
                require_admin(request, [queue])
            number: int = asked["shard"]
            return number
        if "queue" not in asked:
            require_operator(request)
            return None
        queues = administered_queues(request, {**asked, "match": asked.get("match", "exact")})
        if len(queues) != 1:
            sentence = f"These tags match {len(queues)} queues; the journal can be read for one queue, or for all."
            raise serializers.ValidationError({"tags": sentence})
        return queues[0].pk
