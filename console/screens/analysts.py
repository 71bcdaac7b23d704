"""Analysts."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def analysts(request: HttpRequest) -> HttpResponse:
    return page(request, "console/analysts.html", title="Analysts")
