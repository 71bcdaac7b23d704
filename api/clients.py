"""/api/clients: the clients that have a name. The record of one is the protocol's own (api/status.py)."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import require_operator
from api.fields import Name, Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView
from clients.models import Client
from clients.selectors import live_session_of


class ClientSerializer(serializers.Serializer):
    name = serializers.CharField()
    persistent = serializers.BooleanField()
    defined_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    session = serializers.IntegerField(allow_null=True, help_text="Its live session.")
    node = serializers.CharField(allow_null=True)
    connected_at = serializers.DateTimeField(allow_null=True)


class ClientArguments(Paging):
    prefix = Name(required=False, help_text="Names that begin so.")
    persistent = serializers.BooleanField(required=False)


def shown_client(client: Client) -> dict[str, Any]:
    session = live_session_of(client)
    return {
        "name": client.name,
        "persistent": client.persistent,
        "defined_at": client.defined_at,
        "last_seen_at": client.last_seen_at,
        "session": session.pk if session else None,
        "node": session.node.name if session and session.node else None,
        "connected_at": session.connected_at if session else None,
    }


class ClientsApi(ApiView):
    @extend_schema(parameters=[ClientArguments], responses=page_of(ClientSerializer), operation_id="list_clients")
    def get(self, request: Request) -> Response:
        """Clients by name. For operators."""
        require_operator(request)
        asked = self.asked(ClientArguments)
        clients = Client.objects.all()
        if "prefix" in asked:
            clients = clients.filter(name__startswith=asked["prefix"])
        if "persistent" in asked:
            clients = clients.filter(persistent=asked["persistent"])
        return Response(page_of_rows(clients, ("name",), asked, shown=shown_client))
