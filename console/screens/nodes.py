"""Nodes: the broker processes of the cluster."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from console import readings
from console.frame import page, screen
from console.health import is_silent
from console.live.parts import Part
from delivery.operating.permissions import May


def read_nodes(given: QueryDict) -> dict[str, Any]:
    now = timezone.now()
    found = readings.nodes()
    return {
        "nodes": [
            {
                "node": node,
                "silent": is_silent(node, now),
                "beat": (now - node.heartbeat_at).total_seconds(),
                "up": (now - node.started_at).total_seconds(),
                "queues": len(node.readers),
            }
            for node in found
        ],
        "alive": sum(not is_silent(node, now) for node in found),
        "sockets": sum(node.sockets for node in found if not is_silent(node, now)),
        "draining": sum(node.draining for node in found),
    }


PART = Part("console/parts/nodes.html", read_nodes)


@screen(May.LOOK, live=PART)
def nodes(request: HttpRequest) -> HttpResponse:
    return page(request, "console/nodes.html", title="Nodes", part=PART)
