"""Overview."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def overview(request: HttpRequest) -> HttpResponse:
    return page(request, "console/overview.html", title="Overview")
