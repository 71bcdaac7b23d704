"""Tag explainer."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.LOOK)
def tag_explainer(request: HttpRequest) -> HttpResponse:
    return page(request, "console/tag_explainer.html", title="Tag explainer")
