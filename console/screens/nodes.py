"""Nodes."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def nodes(request: HttpRequest) -> HttpResponse:
    return page(request, "console/nodes.html", title="Nodes")
