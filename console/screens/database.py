"""Database health."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def database(request: HttpRequest) -> HttpResponse:
    return page(request, "console/database.html", title="Database health")
