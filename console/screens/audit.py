"""Audit."""

from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.permissions import May


@screen(May.SEE_AUDIT)
def audit(request: HttpRequest) -> HttpResponse:
    return page(request, "console/audit.html", title="Audit")
