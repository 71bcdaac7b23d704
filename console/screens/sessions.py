"""Sessions."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def sessions(request: HttpRequest) -> HttpResponse:
    return page(request, "console/sessions.html", title="Sessions")
