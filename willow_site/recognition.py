"""What a request shows of its caller, and what Django makes of it, for known_callers.py."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from clients.auth import shown_key
from clients.principal import Principal
from willow_site.known_callers import FOUND, Caller


def credential_of(scope: dict[str, Any]) -> bytes | None:
    """A hash of the key and the login that a request shows; None if it shows neither."""
    headers = dict(scope.get("headers", ()))
    asked = parse_qs(scope.get("query_string", b"").decode("latin1"))
    token = asked["token"][-1] if "token" in asked else None
    key = shown_key(headers.get(b"authorization", b"").decode("latin1"), token)
    login = _session_cookie(headers.get(b"cookie", b"").decode("latin1"))
    return hashlib.sha256(f"{key}\n{login}".encode()).digest() if key or login else None


def _session_cookie(cookies: str) -> str | None:
    """As it was sent: what the standard library does to read quotes takes long for a stranger's."""
    named = (part.strip().partition("=") for part in cookies.split(";"))
    return next((value for name, _, value in named if name == settings.SESSION_COOKIE_NAME), None)


class CallersAreKnown:
    """Django's middleware: says who a request came from."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        found = getattr(request, "scope", {}).get(FOUND)
        if found is not None:
            found.has_looked, found.caller = True, _who(request)
        return response


def _who(request: HttpRequest) -> Caller | None:
    principal = getattr(request, "auth", None)  # of the API
    if isinstance(principal, Principal):
        return Caller.OPERATOR if principal.is_operator else Caller.CLIENT
    # Others are not asked for, or their answers would be said to depend on cookies.
    is_logged_in = settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_staff
    return Caller.OPERATOR if is_logged_in else None
