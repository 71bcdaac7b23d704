"""Who did what to what: the one way in which operators' actions are written down."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import ValidationError

from clients.principal import Principal
from delivery.operating.models import AuditEntry
from delivery.operating.tally import Tally
from delivery.protocol.errors import WillowError


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever acts: a staff member, a key (named by its client), or the system itself."""

    name: str
    kind: str
    user_id: int | None = None


SYSTEM = Operator("willow", "system")


def staff(user: AbstractBaseUser | AnonymousUser) -> Operator:
    return Operator(user.get_username(), "staff", user.pk)


def key_holder(principal: Principal) -> Operator:
    return Operator(principal.client_name or "anonymous", "key")


def audit(
    *, by: Operator, action: str, target: str, messages: int | None = None, details: Mapping[str, Any] | None = None
) -> AuditEntry:
    """`details` must hold neither bodies nor keys."""
    return AuditEntry.objects.create(
        actor=by.name,
        actor_kind=by.kind,
        user_id=by.user_id,
        action=action,
        target=target,
        messages=messages,
        details=dict(details or {}),
    )


@contextmanager
def audited(*, by: Operator, action: str, target: str, details: Mapping[str, Any] | None = None) -> Iterator[Tally]:
    """Counts what is done inside, and writes the entry at the end: also for what was done before it went wrong.

    What was refused outright has changed nothing, and leaves no entry.
    """
    tally = Tally()
    try:
        yield tally
    except (ValidationError, WillowError):
        if tally.done:
            _write(by, action, target, tally, details)
        raise
    except Exception:
        _write(by, action, target, tally, {**(details or {}), "broken_off": True})
        raise
    _write(by, action, target, tally, details)


def _write(by: Operator, action: str, target: str, tally: Tally, details: Mapping[str, Any] | None) -> None:
    audit(
        by=by,
        action=action,
        target=target,
        messages=tally.done,
        details={**(details or {}), **tally.as_json()},
    )
