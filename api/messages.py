"""/api/messages: looking at messages without claiming them, posting and popping, and what operators do to them."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import audited_for_staff, may_see_bodies, operator_of, require, require_admin, require_bodies_for_text
from api.fields import (
    BigInteger,
    BodyField,
    Headers,
    Name,
    Paging,
    Priority,
    Seconds,
    Strict,
    Tags,
    page_of,
    shown_body,
)
from api.filters import (
    STATES,
    ChosenMessages,
    MessageConditions,
    chosen_queues,
    message_filter,
    queues_of_ids,
)
from api.pages import answered_page, asked_cursor
from api.tallies import TallySerializer
from api.views import ApiView, queue_numbered
from api.waiting import answer_taking, seconds_to_wait
from clients.models import Permission
from clients.rest import principal_of
from delivery.gateway import http as over_http
from delivery.inspection.filters import MessageFilter
from delivery.inspection.search import MessageRow, find_messages, list_name
from delivery.inspection.tag_explainer import MATCHES
from delivery.moves.message_id import MessageId
from delivery.operating import messages as operating
from delivery.operating.messages import Choice
from delivery.operating.permissions import May
from delivery.protocol.commands import Pop, Post
from queues.definitions import QueueRecord
from queues.models import Queue

SHOWN_BYTES = 1000  # of a body in a list, unless more is asked for
MOST_BYTES = 1_000_000
MOST_POPPED = 100
LONGEST_WAIT = 30.0  # seconds
SHORT_TEXT = 500  # characters
GROUPING_TEXT = 200  # characters


class MessageSerializer(serializers.Serializer):
    """A message that is in its queue now."""

    id = serializers.CharField(help_text="shard/sequence/index")
    shard = serializers.IntegerField()
    sequence = serializers.IntegerField()
    index = serializers.IntegerField()
    queue = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=list(STATES))
    priority = serializers.IntegerField()
    attempts = serializers.IntegerField()
    posted_at = serializers.DateTimeField()
    available_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    key = serializers.CharField(allow_null=True)
    headers = Headers(allow_null=True)
    group = serializers.CharField(allow_null=True)
    unique = serializers.CharField(allow_null=True)
    session = serializers.IntegerField(allow_null=True, help_text="Who holds it.")
    assigned_at = serializers.DateTimeField(allow_null=True)
    lease_until = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    last_client = serializers.CharField(allow_null=True)
    size = serializers.IntegerField(help_text="Bytes of the body.")
    body = BodyField(
        allow_null=True,
        help_text="The first `body_bytes` bytes, if it is longer; null for staff who may not see bodies.",
    )


class MessageArguments(Paging, MessageConditions):
    body_bytes = serializers.IntegerField(
        min_value=0, max_value=MOST_BYTES, default=SHOWN_BYTES, help_text="Bytes that are shown of each body."
    )


class PostSerializer(Strict):
    """A post, as in the protocol."""

    queue = serializers.ListField(child=Name(), min_length=1, max_length=64, help_text="One or more names.")
    tags = Tags(default=list)
    message = BodyField()
    priority = Priority(default=0)
    key = serializers.CharField(min_length=1, max_length=SHORT_TEXT, required=False, trim_whitespace=False)
    delay = Seconds(required=False)
    ttl = Seconds(required=False)
    dedupe = serializers.CharField(min_length=1, max_length=SHORT_TEXT, required=False, trim_whitespace=False)
    headers = Headers(required=False)
    group = serializers.CharField(min_length=1, max_length=GROUPING_TEXT, required=False, trim_whitespace=False)
    unique = serializers.CharField(min_length=1, max_length=GROUPING_TEXT, required=False, trim_whitespace=False)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("queue"), str):
            data = {**data, "queue": [data["queue"]]}
        return super().to_internal_value(data)


class StoredSerializer(serializers.Serializer):
    id = serializers.CharField(help_text="shard/sequence/index")
    queue = serializers.CharField()
    shard = serializers.IntegerField()
    sequence = serializers.IntegerField()
    index = serializers.IntegerField()
    duplicate = serializers.BooleanField(help_text="Not stored: this is the message that it repeats.")


class PostedSerializer(serializers.Serializer):
    stored = StoredSerializer(many=True, help_text="One for each queue.")


class PopSerializer(Strict):
    """A pop, as in the protocol."""

    queue = Name()
    tags = Tags(default=list)
    match = serializers.ChoiceField(choices=MATCHES, required=False)
    timeout = Seconds(required=False, max_value=LONGEST_WAIT, help_text="Seconds to wait on an empty queue.")
    count = serializers.IntegerField(min_value=1, max_value=MOST_POPPED, default=1)


class PoppedSerializer(serializers.Serializer):
    shard = serializers.IntegerField()
    sequence = serializers.IntegerField()
    index = serializers.IntegerField()
    queue = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    attempt = serializers.IntegerField()
    priority = serializers.IntegerField()
    headers = Headers(allow_null=True)
    group = serializers.CharField(allow_null=True)
    body = BodyField()


class PoppedMessagesSerializer(serializers.Serializer):
    messages = PoppedSerializer(many=True)


class MoveSerializer(ChosenMessages):
    to = BigInteger(help_text="The number of the target queue.")


class PrioritySerializer(ChosenMessages):
    priority = Priority()


def shown_message(row: MessageRow) -> dict[str, Any]:
    names = ("sequence", "index", "priority", "attempts", "posted_at", "available_at", "expires_at", "key",
             "assigned_at", "lease_until", "last_error", "last_client")  # fmt: skip
    return {
        "id": str(MessageId(row.queue_id, row.sequence, row.index)),
        "shard": row.queue_id,
        "queue": row.queue_name,
        "tags": row.queue_tags,
        "state": row.state.label,
        "headers": None if row.body is None else row.headers,  # whoever may not see the one may not see the other
        "group": row.group_key,
        "unique": row.unique_key,
        "session": row.holder,
        "size": row.size,
        "body": shown_body(row.body),
        **{name: getattr(row, name) for name in names},
    }


def administered_queues(request: Request, asked: dict[str, Any]) -> list[Queue]:
    """The queues of a filter, after checking that the caller may operate them."""
    require_bodies_for_text(request, asked)
    if "queue" in asked:  # before the caller learns whether there is such a queue
        require(request, Permission.ADMIN, [asked["queue"]])
    queues = chosen_queues(asked)
    require_admin(request, queues)
    return queues


def page_of_messages(
    request: Request, asked: dict[str, Any], chosen: MessageFilter, shown: Callable[[MessageRow], dict[str, Any]]
) -> dict[str, Any]:
    of = list_name(chosen.order)
    body_bytes = asked["body_bytes"] if may_see_bodies(request) else None
    after = asked_cursor(asked, of=of)
    return answered_page(find_messages(chosen, limit=asked["limit"], after=after, body_bytes=body_bytes), shown, of=of)


def shown_copy(copy: Any) -> dict[str, Any]:
    return {
        "id": str(MessageId(copy.queue.id, copy.sequence, copy.index)),
        "queue": copy.queue.name,
        "shard": copy.queue.id,
        "sequence": copy.sequence,
        "index": copy.index,
        "duplicate": copy.duplicate,
    }


def shown_popped(row: Any, queue: QueueRecord | None, name: str) -> dict[str, Any]:
    """`name` is that of the queue, which may be gone by now."""
    return {
        "shard": row.queue_id,
        "sequence": row.sequence,
        "index": row.index,
        "queue": queue.name if queue else name,
        "tags": list(queue.tags) if queue else [],
        "attempt": row.attempts,
        "priority": row.priority,
        "headers": row.headers,
        "group": row.group_key,
        "body": shown_body(row.body),
    }


class MessagesApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_MESSAGES,)}

    @extend_schema(parameters=[MessageArguments], responses=page_of(MessageSerializer), operation_id="list_messages")
    def get(self, request: Request) -> Response:
        """Messages that a filter chooses, oldest first in each queue. Looking at a message does not claim it.

        Where `state` is only `delayed`, those that are due next come first; where it is only `claimed`, those whose
        lease ends next. If the filter matches only a few of many messages, a page can be short, or even empty, before
        the end: go on until `next` is null.
        """
        asked = self.asked(MessageArguments)
        queues = administered_queues(request, asked)
        return Response(page_of_messages(request, asked, message_filter(asked, queues), shown_message))

    @extend_schema(request=PostSerializer, responses={201: PostedSerializer}, operation_id="post_message")
    def post(self, request: Request) -> Response:
        """Post a message. The answer comes when the message is on disk. Needs `post` on each of its queues."""
        sent = self.sent(PostSerializer)
        names = sent.pop("queue")
        require(request, Permission.POST, names)
        # `sync`: the message is stored even if a waiting client could be handed it directly.
        command = Post(queues=names, tags=tuple(sent.pop("tags")), notify=frozenset({"sync"}), **sent)
        with audited_for_staff(request, "post message", ", ".join(names)) as tally:
            copies = over_http.post(command, by=principal_of(request))
            tally.done = len(copies)
        return Response({"stored": [shown_copy(copy) for copy in copies]}, status=201)


class PopApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_MESSAGES, May.SEE_BODIES)}

    @extend_schema(request=PopSerializer, responses=PoppedMessagesSerializer, operation_id="pop_messages")
    def post(self, request: Request) -> Response:
        """Take messages for good. Needs `fetch` on the queue. If the answer gets lost, the messages are lost too."""
        sent = self.sent(PopSerializer)
        require(request, Permission.FETCH, [sent["queue"]])
        seconds = seconds_to_wait(request, sent.pop("timeout", 0.0))
        command = Pop(**{**sent, "tags": tuple(sent["tags"])}, timeout=seconds)
        take = over_http.pop(command, by=principal_of(request))

        def show(popped: list[Any]) -> dict[str, Any]:
            return {"messages": [shown_popped(row, queue, sent["queue"]) for row, queue in popped]}

        return answer_taking(request, "pop messages", sent["queue"], take, show, wait_seconds=seconds)


class MessagesActionApi(ApiView):
    staff_needs = {"POST": (May.CHANGE_MESSAGES,)}

    def chosen(self, sent: dict[str, Any]) -> Choice:
        """The messages of the action, after checking that the caller may act on them."""
        if "filter" in sent:
            return message_filter(sent["filter"], administered_queues(self.request, sent["filter"]))
        require_admin(self.request, queues_of_ids(sent["ids"]))
        ids: list[MessageId] = sent["ids"]
        return ids


class RetryApi(MessagesActionApi):
    @extend_schema(request=ChosenMessages, responses=TallySerializer, operation_id="retry_messages")
    def post(self, request: Request) -> Response:
        """Make delayed messages ready now."""
        chosen = self.chosen(self.sent(ChosenMessages))
        return Response(operating.messages_retry_now(chosen=chosen, by=operator_of(request)).as_json())


class DropApi(MessagesActionApi):
    @extend_schema(request=ChosenMessages, responses=TallySerializer, operation_id="drop_messages")
    def post(self, request: Request) -> Response:
        """Drop messages for good. Those that a client holds stay."""
        chosen = self.chosen(self.sent(ChosenMessages))
        return Response(operating.messages_drop(chosen=chosen, by=operator_of(request)).as_json())


class MoveApi(MessagesActionApi):
    @extend_schema(request=MoveSerializer, responses=TallySerializer, operation_id="move_messages")
    def post(self, request: Request) -> Response:
        """Move messages to the end of another queue."""
        sent = self.sent(MoveSerializer)
        chosen, target = self.chosen(sent), queue_numbered(sent["to"])
        require_admin(request, [target])
        return Response(operating.messages_move(chosen=chosen, target=target, by=operator_of(request)).as_json())


class PriorityApi(MessagesActionApi):
    @extend_schema(request=PrioritySerializer, responses=TallySerializer, operation_id="set_priority")
    def post(self, request: Request) -> Response:
        """Change the priority of waiting messages."""
        sent = self.sent(PrioritySerializer)
        tally = operating.messages_set_priority(
            chosen=self.chosen(sent), priority=sent["priority"], by=operator_of(request)
        )
        return Response(tally.as_json())
