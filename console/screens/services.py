"""Services."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def services(request: HttpRequest) -> HttpResponse:
    return page(request, "console/services.html", title="Services")
