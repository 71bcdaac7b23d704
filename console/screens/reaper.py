"""Reaper."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def reaper(request: HttpRequest) -> HttpResponse:
    return page(request, "console/reaper.html", title="Reaper")
