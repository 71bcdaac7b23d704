"""What a page may load and run, for every answer that a browser could show."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Scripts are files of ours and never part of a page, so nothing that somebody smuggles into one runs. The theme's
# Alpine.js evaluates the expressions in its own attributes, which is what 'unsafe-eval' is for; its styles stand in
# attributes, too.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class ContentSecurity:
    """Django's middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response
