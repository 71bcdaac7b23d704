"""What a caller may do: with the grants of its key, as on sockets; staff with their permissions."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rest_framework.request import Request

from clients.models import Permission
from clients.principal import Principal
from clients.rest import principal_of
from delivery.operating.audit import Operator, audited, key_holder, staff
from delivery.operating.permissions import May, allowed, refusal
from delivery.operating.tally import Tally
from delivery.protocol.errors import Code, WillowError
from queues.models import Queue

StaffNeeds = Mapping[str, tuple[May, ...]]  # by method


def require_of_staff(request: Request, needs: StaffNeeds) -> None:
    """A login says who somebody is; its permissions say what they may do. Keys have their grants instead."""
    if not request.user.is_staff:
        return
    for may in needs.get(_method(request), (May.LOOK,)):
        if not allowed(request.user, may):
            raise WillowError(Code.PERMISSION_DENIED, may.value, refusal(may))


def _method(request: Request) -> str:
    return "GET" if request.method == "HEAD" else str(request.method)


def may_see_bodies(request: Request) -> bool:
    """A caller with a key has been checked for `admin` on the queue before."""
    return not request.user.is_staff or allowed(request.user, May.SEE_BODIES)


def require_bodies_for_text(request: Request, asked: Mapping[str, Any]) -> None:
    """Finding or not finding a text would tell what bodies say."""
    if "text" in asked and not may_see_bodies(request):
        reason = "Your account may not see bodies, so it cannot search in them."
        raise WillowError(Code.PERMISSION_DENIED, "text", reason)


def operator_of(request: Request) -> Operator:
    """Who acts, for the audit."""
    if isinstance(request.auth, Principal) or not request.user.is_authenticated:
        return key_holder(principal_of(request))
    return staff(request.user)


@contextmanager
def audited_for_staff(request: Request, action: str, target: str) -> Iterator[Tally]:
    """Posting and popping: ordinary work for a client, but an action to be audited when a staff member does it."""
    if not request.user.is_staff:
        yield Tally()
        return
    with audited(by=operator_of(request), action=action, target=target) as tally:
        yield tally


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
