"""Clients."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def clients(request: HttpRequest) -> HttpResponse:
    return page(request, "console/clients.html", title="Clients")
