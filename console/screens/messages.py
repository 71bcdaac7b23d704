"""Messages."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def messages(request: HttpRequest) -> HttpResponse:
    return page(request, "console/messages.html", title="Messages")
