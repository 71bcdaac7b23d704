"""Who did what to what: the one place where operators' actions are written down.

Every function that acts for an operator takes `by`, and writes its entry in the transaction of what it does. Actions
on many messages have several transactions: their entry is there before the first of them.
"""

import getpass
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import Error

from clients.principal import Principal
from delivery.operating.models import AuditEntry
from delivery.operating.tally import Tally
from delivery.protocol.errors import WillowError

logger = logging.getLogger(__name__)
audit_log = logging.getLogger("willow.audit")

BROKEN_OFF = "broken_off"  # in the details of an action that did not come to its end


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever acts: a staff member, a key (named by its client), or an account of the operating system."""

    name: str
    kind: str
    user_id: int | None = None
    user: User | AnonymousUser | None = field(default=None, compare=False, repr=False)  # whose permissions hold


def staff(user: User | AnonymousUser) -> Operator:
    return Operator(user.get_username(), "staff", user.pk, user)


def key_holder(principal: Principal) -> Operator:
    return Operator(principal.client_name or "anonymous", "key")


def at_shell() -> Operator:
    """Whoever runs a command of manage.py, by the name of the account on this machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in many containers
        name = f"user {os.getuid()}"
    return Operator(name, "system")


def audit(
    *, by: Operator, action: str, target: str, messages: int | None = None, details: Mapping[str, Any] | None = None
) -> AuditEntry:
    """`details` must hold neither bodies nor keys.

    The log has a line of it, too, whatever becomes of the table: it tells what was tried even if that is rolled back.
    """
    audit_log.info("%s (%s): %s, %s", by.name, by.kind, action, target)
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
    """The entry of an action in several transactions: what is done inside is counted, and written down at the end.

    The entry is there from the beginning, marked as broken off, so it also stands if the process dies half way. What
    was refused outright has changed nothing, and leaves no entry.
    """
    said = dict(details or {})
    entry = audit(by=by, action=action, target=target, messages=0, details={**said, BROKEN_OFF: True})
    tally = Tally()
    try:
        yield tally
    except (ValidationError, WillowError):
        if tally.done:
            _write(entry, tally, said)
        else:
            entry.delete()
        raise
    except Exception:
        _write(entry, tally, {**said, BROKEN_OFF: True})
        raise
    try:
        _write(entry, tally, said)
    except Error:  # what was done is committed, so it is no failure; the entry stays as it was at the beginning
        logger.exception("The counts of audit entry %s could not be written", entry.pk)


def _write(entry: AuditEntry, tally: Tally, details: Mapping[str, Any]) -> None:
    entry.messages = tally.done
    entry.details = {**details, **tally.as_json()}
    entry.save(update_fields=["messages", "details"])
