"""/api/sessions: sessions that are connected or may resume; closing them, and failing the messages that they hold."""

from typing import Any

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import operator_of, require_operator
from api.fields import Name, Paging, page_of
from api.pages import page_of_rows
from api.problems import Conflict
from api.tallies import TallySerializer
from api.views import ApiView, found
from clients.models import Session
from delivery.models import Message
from delivery.operating import sessions as operating
from delivery.operating.permissions import May

STATES = ("live", "held", "orphaned", "ended")


class SessionSerializer(serializers.Serializer):
    """The id from `hello` is never shown: anyone who knows it could resume the session."""

    id = serializers.IntegerField()
    state = serializers.ChoiceField(choices=STATES)
    client = serializers.CharField(allow_null=True)
    key = serializers.CharField(allow_null=True, help_text="The first characters of its key.")
    node = serializers.CharField(allow_null=True)
    address = serializers.CharField(allow_blank=True)
    connected_at = serializers.DateTimeField()
    held_until = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class SessionDetailSerializer(SessionSerializer):
    held_messages = serializers.IntegerField()


class SessionArguments(Paging):
    client = Name(required=False)
    node = Name(required=False)
    ended = serializers.BooleanField(default=False, help_text="Also those that have ended.")


def shown_session(session: Session) -> dict[str, Any]:
    return {
        "id": session.pk,
        "state": _state(session),
        "client": session.client.name if session.client else None,
        "key": session.key.prefix if session.key else None,
        "node": session.node.name if session.node else None,
        "address": session.address,
        "connected_at": session.connected_at,
        "held_until": session.held_until,
        "ended_at": session.ended_at,
    }


def _state(session: Session) -> str:
    if session.ended_at is not None:
        return "ended"
    if session.node is not None:
        return "live"
    return "held" if session.held_until is not None else "orphaned"


class SessionsApi(ApiView):
    @extend_schema(parameters=[SessionArguments], responses=page_of(SessionSerializer), operation_id="list_sessions")
    def get(self, request: Request) -> Response:
        """Sessions, the newest first. For operators."""
        require_operator(request)
        asked = self.asked(SessionArguments)
        sessions = Session.objects.select_related("client", "key", "node")
        if not asked["ended"]:
            sessions = sessions.filter(ended_at=None)
        if "client" in asked:
            sessions = sessions.filter(client__name=asked["client"])
        if "node" in asked:
            sessions = sessions.filter(node__name=asked["node"])
        return Response(page_of_rows(sessions, ("-id",), asked, shown=shown_session))


class SessionApi(ApiView):
    def session(self, number: int) -> Session:
        require_operator(self.request)
        session = Session.objects.select_related("client", "key", "node").filter(pk=number).first()
        return found(session, str(number), f"There is no session {number}.")

    @extend_schema(responses=SessionDetailSerializer, operation_id="show_session")
    def get(self, request: Request, number: int) -> Response:
        """One session, and how many messages it holds. For operators."""
        session = self.session(number)
        held = Message.objects.filter(holder=session.pk).count()
        return Response({**shown_session(session), "held_messages": held})


class DisconnectApi(SessionApi):
    staff_needs = {"POST": (May.DISCONNECT,)}
    http_method_names = ["post", "options"]

    @extend_schema(request=None, responses=TallySerializer, operation_id="disconnect_session")
    def post(self, request: Request, number: int) -> Response:
        """Close its socket, on any node. Its messages fail at once (`done` says how many). For operators."""
        return Response(_act(self.session(number), operating.session_disconnect, request))


class FailMessagesApi(SessionApi):
    staff_needs = {"POST": (May.DISCONNECT,)}
    http_method_names = ["post", "options"]

    @extend_schema(request=None, responses=TallySerializer, operation_id="fail_messages_of_session")
    def post(self, request: Request, number: int) -> Response:
        """Fail all messages that the session holds, so that others get them. For operators."""
        return Response(_act(self.session(number), operating.session_fail_messages, request))


def _act(session: Session, action: Any, request: Request) -> dict[str, Any]:
    try:
        tally = action(session_id=session.pk, by=operator_of(request))
    except ValidationError as refusal:
        raise Conflict(" ".join(refusal.messages)) from None
    answer: dict[str, Any] = tally.as_json()
    return answer
