"""/api/messages/<shard>/<index>: one message, while it lives and after it has ended."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import may_see_bodies, operator_of, require_admin
from api.diagnoses import CausesSerializer, TimelineSerializer, shown_causes, shown_events
from api.fields import BodyField, Strict, shown_body
from api.filters import STATES
from api.messages import MessageSerializer, shown_message
from api.tallies import TallySerializer
from api.views import ApiView, found, queue_numbered
from clients.models import Permission
from clients.rest import principal_of
from delivery.inspection.diagnosis import why_message
from delivery.inspection.outcome import Ended, MessageOutcome, message_at, message_outcome
from delivery.inspection.timeline import message_timeline
from delivery.moves.message_id import MessageId
from delivery.moves.states import Outcome
from delivery.operating import messages as operating
from delivery.operating.permissions import May
from delivery.protocol.errors import Code, WillowError
from queues.models import Queue

ENDED = "ended"
FOR_OPERATORS = ("session", "last_client")  # posters do not learn who works for them


class OneMessageSerializer(MessageSerializer):
    """A message, and how it ended. Of one that has ended, the rest is known as long as the journal keeps the day."""

    id = serializers.CharField(allow_null=True, help_text="shard/sequence/index; null: it has ended.")
    sequence = serializers.IntegerField(allow_null=True, help_text="null: it has ended.")
    state = serializers.ChoiceField(choices=[*STATES, ENDED])
    priority = serializers.IntegerField(allow_null=True)
    posted_at = serializers.DateTimeField(allow_null=True)
    size = serializers.IntegerField(allow_null=True, help_text="Bytes of the body.")
    outcome = serializers.ChoiceField(choices=Outcome.values, allow_null=True, help_text="null: it has not ended.")
    reason = serializers.CharField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    reply = BodyField(
        allow_null=True,
        help_text="Of the finish, where replies are kept; null for staff who may not see bodies.",
    )
    reply_until = serializers.DateTimeField(allow_null=True, help_text="Until when the reply can be asked for.")


class NoArguments(Strict):
    pass


def shown_outcome(queue: Queue, index: int, found_as: MessageOutcome) -> dict[str, Any]:
    if found_as.live is not None:
        nothing_yet = dict.fromkeys(("outcome", "reason", "ended_at", "reply", "reply_until"))
        return {**shown_message(found_as.live), **nothing_yet}
    assert found_as.ended is not None
    return _shown_end(queue, index, found_as.ended)


def _shown_end(queue: Queue, index: int, ended: Ended) -> dict[str, Any]:
    journal = ended.journal
    unknown: dict[str, Any] = dict.fromkeys(OneMessageSerializer().fields)
    from_journal = journal and {
        "priority": journal.priority,
        "posted_at": journal.posted_at,
        "assigned_at": journal.assigned_at,
        "session": journal.holder,
        "last_client": journal.client,
        "size": journal.size,
        "headers": None if "body" in journal.get_deferred_fields() else (journal.extras or {}).get("headers"),
        "body": None if "body" in journal.get_deferred_fields() else _shown_bytes(journal.body),
    }
    return {
        **unknown,
        **(from_journal or {}),
        "shard": queue.pk,
        "index": index,
        "queue": queue.name,
        "tags": queue.tags,
        "state": ENDED,
        "attempts": ended.attempts,
        "last_error": ended.error,
        "outcome": ended.outcome,
        "reason": ended.reason,
        "ended_at": ended.ended_at,
        "reply": shown_body(ended.reply),
        "reply_until": ended.until,
    }


class OneMessageApi(ApiView):
    def message_id(self, shard: int, index: int) -> MessageId:
        """The message that was asked for, after checking that the caller may ask."""
        self.asked(NoArguments)
        require_admin(self.request, [queue_numbered(shard)])
        return message_at(shard, index)


class MessageApi(OneMessageApi):
    staff_needs = {"DELETE": (May.CHANGE_MESSAGES,)}

    @extend_schema(responses=OneMessageSerializer, operation_id="show_message")
    def get(self, request: Request, shard: int, index: int) -> Response:
        """One message with its whole body; after its end the outcome and, where the queue keeps replies, the reply.

        Needs `admin` on the queue; or `post`, for messages that the same key posted.
        """
        self.asked(NoArguments)
        queue = queue_numbered(shard)
        principal = principal_of(request)
        is_operator = principal.may(Permission.ADMIN.value, queue.name)
        if not is_operator and not principal.may(Permission.POST.value, queue.name):
            raise _not_yours(queue, "This needs the grant `admin`, or `post` for messages of your own")
        outcome = message_outcome(shard, index, with_bodies=may_see_bodies(request))
        one = found(outcome, f"{shard}/{index}", f"There is no message {index} in the queue {shard}.")
        shown = shown_outcome(queue, index, one)
        if not is_operator:
            if one.poster_key != principal.key_id:
                raise _not_yours(queue, f"Message {index} was not posted with your key: to see it needs `admin`")
            shown |= dict.fromkeys(FOR_OPERATORS)
        return Response(shown)

    @extend_schema(responses={200: TallySerializer}, operation_id="drop_message")
    def delete(self, request: Request, shard: int, index: int) -> Response:
        """Drop one message, unless a client holds it."""
        one = self.message_id(shard, index)
        return Response(operating.messages_drop(chosen=[one], by=operator_of(request)).as_json())


class MessageWhyApi(OneMessageApi):
    @extend_schema(responses=CausesSerializer, operation_id="why_message")
    def get(self, request: Request, shard: int, index: int) -> Response:
        """Why this message does not move."""
        return Response(shown_causes(why_message(self.message_id(shard, index))))


class TimelineApi(OneMessageApi):
    @extend_schema(responses=TimelineSerializer, operation_id="message_timeline")
    def get(self, request: Request, shard: int, index: int) -> Response:
        """What happened to a message, from the journal and its state now; also after it has ended."""
        return Response(shown_events(message_timeline(self.message_id(shard, index))))


def _shown_bytes(body: bytes | memoryview | None) -> Any:
    return None if body is None else shown_body(bytes(body))


def _not_yours(queue: Queue, reason: str) -> WillowError:
    return WillowError(Code.PERMISSION_DENIED, queue.name, f"{reason} on {queue.name}.")
