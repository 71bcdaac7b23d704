"""/api/nodes: the broker's processes."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import require_operator
from api.fields import Paging, page_of
from api.pages import page_of_rows
from api.views import ApiView
from clients.models import Node
from delivery.sessions.quotas import SHORT_OF


class NodeSerializer(serializers.Serializer):
    name = serializers.CharField()
    url = serializers.CharField(help_text="Where clients reach it.")
    started_at = serializers.DateTimeField()
    heartbeat_at = serializers.DateTimeField()
    alive = serializers.BooleanField()
    draining = serializers.BooleanField()
    sockets = serializers.IntegerField()
    alarms = serializers.ListField(
        child=serializers.ChoiceField(choices=tuple(SHORT_OF)), help_text="What it is short of: it refuses posts."
    )


def shown_node(node: Node) -> dict[str, Any]:
    names = ("name", "url", "started_at", "heartbeat_at", "draining", "sockets", "alarms")
    alive = node.heartbeat_at > timezone.now() - timedelta(seconds=settings.WILLOW.node_lapse)
    return {**{name: getattr(node, name) for name in names}, "alive": alive}


class NodesApi(ApiView):
    @extend_schema(parameters=[Paging], responses=page_of(NodeSerializer), operation_id="list_nodes")
    def get(self, request: Request) -> Response:
        """Nodes by name. For operators."""
        require_operator(request)
        return Response(page_of_rows(Node.objects.all(), ("name",), self.asked(Paging), shown=shown_node))
