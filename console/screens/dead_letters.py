"""Dead letters."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def dead_letters(request: HttpRequest) -> HttpResponse:
    return page(request, "console/dead_letters.html", title="Dead letters")
