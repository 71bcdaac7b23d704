"""What a caller may do: with the grants of its key, as on sockets; operators have `admin`."""

from collections.abc import Iterable

from rest_framework.request import Request

from clients.models import Permission
from clients.principal import Principal
from clients.rest import principal_of
from delivery.operating.audit import Operator, key_holder, staff
from delivery.protocol.errors import Code, WillowError
from queues.models import Queue


def operator_of(request: Request) -> Operator:
    """Who acts, for the audit."""
    if isinstance(request.auth, Principal) or not request.user.is_authenticated:
        return key_holder(principal_of(request))
    return staff(request.user)


def may_see(request: Request, name: str) -> bool:
    """Any grant on a queue lets its holder know about it."""
    principal = principal_of(request)
    return any(principal.may(permission, name) for permission in Permission.values)


def require_any(request: Request, name: str) -> None:
    if not may_see(request, name):
        raise WillowError(Code.PERMISSION_DENIED, name, f"Your key grants nothing on {name}.")


def require(request: Request, permission: Permission, names: Iterable[str]) -> None:
    principal = principal_of(request)
    for name in names:
        if not principal.may(permission.value, name):
            reason = f"This needs the grant `{permission.value}` on {name}, or a staff login."
            raise WillowError(Code.PERMISSION_DENIED, name, reason)


def require_admin(request: Request, queues: Iterable[Queue]) -> None:
    require(request, Permission.ADMIN, sorted({queue.name for queue in queues}))


def require_operator(request: Request) -> None:
    if not principal_of(request).is_operator:
        raise WillowError(Code.PERMISSION_DENIED, "*", "This needs the grant `admin` on *, or a staff login.")
