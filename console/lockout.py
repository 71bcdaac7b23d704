"""Who has guessed at a password too often. django-axes counts; here is what it needs to know of us."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console.problems import Problem, problem_page


def caller(request: HttpRequest) -> str:
    """The address that all of Willow goes by: TrustedProxies has put it there."""
    address: str = request.META.get("REMOTE_ADDR", "")
    return address


def locked_out(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    minutes = settings.WILLOW.lockout_minutes
    why = f"This account is locked for your address after too many failed logins. Try again in {minutes:g} minutes."
    return problem_page(request, Problem(429, "Locked", why))
