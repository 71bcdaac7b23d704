"""Queues."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def queues(request: HttpRequest) -> HttpResponse:
    return page(request, "console/queues.html", title="Queues")
