"""CORS: which pages of other sites may call the REST API from a browser (WILLOW_BROWSER_ORIGINS).

Cookies are never allowed across sites: such a page needs a key of its own.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

ADDRESSES = ("/api/", "/status/")
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
HEADERS = "Authorization, Content-Type, If-None-Match, X-Request-Id"
SHOWN_HEADERS = "ETag, Retry-After, X-Request-Id"
PREFLIGHT_SECONDS = 600  # how long a browser may remember the answer


class BrowserOrigins:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.WILLOW.browser_origins or not request.path.startswith(ADDRESSES):
            return self._get_response(request)
        allowed = request.headers.get("Origin", "").lower() in settings.WILLOW.browser_origins
        if allowed and _is_preflight(request):
            answer = HttpResponse(status=204)
            answer["Access-Control-Allow-Methods"] = METHODS
            answer["Access-Control-Allow-Headers"] = HEADERS
            answer["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        else:
            answer = self._get_response(request)
        patch_vary_headers(answer, ("Origin",))
        if allowed:
            answer["Access-Control-Allow-Origin"] = request.headers["Origin"]
            answer["Access-Control-Expose-Headers"] = SHOWN_HEADERS
        return answer


def _is_preflight(request: HttpRequest) -> bool:
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
