"""Who calls over HTTP: a key, a staff member's login, or somebody anonymous on this machine."""

from typing import Any

from django.db import connection
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from clients.auth import anonymous_principal, came_through_proxy, key_digest, principal_from_rows
from clients.models import Permission
from clients.principal import Principal
from clients.statements import statement

SCHEME = "Token"


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Token <key>` or `?token=<key>`, as on sockets. `request.auth` is the principal."""

    def authenticate(self, request: Request) -> tuple[Any, Principal] | None:
        key = _key_of(request._request)
        if key is None:
            return None
        with connection.cursor() as cursor:
            cursor.execute(statement("find_key"), {"digest": key_digest(key)})
            principal = principal_from_rows(cursor.fetchall())
        if principal is None:
            raise AuthenticationFailed("This key is not valid.")
        return request._request.user, principal

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class MayComeIn(BasePermission):
    """Anybody with a valid key, staff, and whoever the rule for anonymous callers lets in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        principal_of(request)
        return True


def principal_of(request: Request) -> Principal:
    if isinstance(request.auth, Principal):
        return request.auth
    if request.user and request.user.is_staff:
        return Principal(grants=(("*", frozenset(Permission.values)),))
    headers = request.headers
    proxied = came_through_proxy("X-Forwarded-For" in headers or "Forwarded" in headers)
    principal = anonymous_principal(request.META.get("REMOTE_ADDR", ""), came_through_proxy=proxied)
    if principal is None:
        raise NotAuthenticated("A valid key is needed.")
    return principal


def _key_of(request: HttpRequest) -> str | None:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme == SCHEME else request.GET.get("token")
