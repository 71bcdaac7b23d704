"""A second factor for people: a code of an app, besides the password. django-otp keeps the devices and checks codes.

A login at an OpenID Connect provider needs none here: the provider has its own.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.plugins.otp_totp.models import TOTPDevice

PAGES = ("/console/", "/admin/")


class Lacking(Enum):
    CODE = "a code of the app"
    SETUP = "an app that makes codes"


def lacking(user: User | AnonymousUser, session: Any) -> Lacking | None:
    """What somebody who has logged in still owes, if anything."""
    if session.get(BACKEND_SESSION_KEY) == settings.OIDC_BACKEND:
        return None
    devices = confirmed_devices(user)
    if not devices:
        return Lacking.SETUP if settings.WILLOW.second_factor == "required" else None
    shown = session.get(DEVICE_ID_SESSION_KEY)
    return None if any(device.persistent_id == shown for device in devices) else Lacking.CODE


def confirmed_devices(user: User | AnonymousUser) -> list[TOTPDevice]:
    return list(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True))


class SecondFactor:
    """Django's middleware: before the second factor was shown, a login leads to its page and is good for nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
            return self._get_response(request)
        own_page = reverse("console:second_factor")
        if request.path in (own_page, reverse("admin:logout")) or lacking(request.user, request.session) is None:
            return self._get_response(request)
        if request.path.startswith(PAGES):
            return HttpResponseRedirect(f"{own_page}?{urlencode({'next': request.get_full_path()})}")
        request.user = AnonymousUser()
        return self._get_response(request)
