"""Who calls over HTTP: a key, a staff member's login, or somebody anonymous whom the rule lets in.

The settings make these the default of every API view, so that none is open by oversight.
"""

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from clients.auth import SCHEME, anonymous_principal, good_from, key_digest, principal_from_rows, shown_key
from clients.principal import OPERATOR, Principal
from clients.statements import statement

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module, by way of the settings


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Token <key>` or `?token=<key>`, as on sockets. `request.auth` is the principal."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Principal] | None:
        key = shown_key(request.headers.get("Authorization", ""), request.query_params.get("token"))
        if key is None:
            return None
        with connection.cursor() as cursor:
            cursor.execute(statement("find_key"), {"digest": key_digest(key)})
            found = principal_from_rows(cursor.fetchall())
        principal = good_from(request.META.get("REMOTE_ADDR", ""), found)
        if principal is None:
            raise AuthenticationFailed("This key is not valid.")
        return AnonymousUser(), principal

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class MayComeIn(BasePermission):
    """Anybody with a valid key, staff, and whoever the rule for anonymous callers lets in."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        principal_of(request)
        return True


def principal_of(request: Request) -> Principal:
    if isinstance(request.auth, Principal):
        return request.auth
    if request.user.is_staff:
        return OPERATOR
    principal = anonymous_principal(request.META.get("REMOTE_ADDR", ""), request.headers)
    if principal is None:
        raise NotAuthenticated("A valid key is needed.")
    return principal
