"""What operators do to clients and keys. The changes are in clients/services.py; here they are audited.

A key's secret is in what its making returns, and in no entry. Nobody gives away by a key what their own account lacks.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from clients import services
from clients.grants import Grants, in_usual_order, written_grants
from clients.models import Client, Key, Permission
from clients.selectors import grants_of
from clients.services import NO_GRACE
from clients.services import NewKey as NewKey
from delivery.operating.audit import Operator, audit
from delivery.operating.permissions import May, allowed, refusal

NOTHING: Grants = {}
# What staff need, apart from the right to make or change keys, to give a permission away.
NEEDED_TO_GIVE = {
    Permission.ADMIN.value: (May.GRANT_ADMIN,),
    Permission.POST.value: (May.CHANGE_MESSAGES,),
    Permission.REQUEST.value: (May.CHANGE_MESSAGES,),
    Permission.FETCH.value: (May.SEE_BODIES, May.CHANGE_MESSAGES),
    Permission.SERVE.value: (May.SEE_BODIES, May.CHANGE_MESSAGES),
    Permission.CREATE.value: (May.CREATE_QUEUES,),
}


@transaction.atomic
def client_create(*, name: str, persistent: bool, by: Operator) -> Client:
    """The client of that name, made if there is none."""
    client = services.client_define(name=name, persistent=persistent)
    audit(by=by, action="create client", target=client.name)
    return client


@transaction.atomic
def client_delete(*, client: Client, by: Operator) -> None:
    services.client_delete(client=client)
    audit(by=by, action="delete client", target=client.name)


@transaction.atomic
def key_create(
    *,
    client_name: str,
    persistent: bool = False,
    grants: Grants,
    expires_at: datetime | None = None,
    quotas: Mapping[str, int] = services.NOTHING,
    addresses: Sequence[str] = (),
    by: Operator,
) -> NewKey:
    _check_may_give(by, grants)
    new = services.key_create(
        client_name=client_name,
        persistent=persistent,
        grants=grants,
        expires_at=expires_at,
        quotas=quotas,
        addresses=addresses,
    )
    _audit_new(new, "make key", by)
    return new


@transaction.atomic
def key_rotate(*, key: Key, grace: timedelta = NO_GRACE, expires_at: datetime | None = None, by: Operator) -> NewKey:
    _check_may_give(by, grants_of(key))
    new = services.key_rotate(key=key, grace=grace, expires_at=expires_at)
    _audit_new(new, "rotate key", by, old=key.prefix)
    return new


@transaction.atomic
def key_expire(*, key: Key, at: datetime | None, by: Operator) -> None:
    services.key_expire(key=key, at=at)
    _audit(key, "expire key", by, {"expires_at": at.isoformat() if at else None})


@transaction.atomic
def key_revoke(*, key: Key, by: Operator) -> None:
    services.key_revoke(key=key)
    _audit(key, "revoke key", by)


@transaction.atomic
def key_set_grants(*, key: Key, grants: Grants, by: Operator) -> None:
    _check_may_give(by, grants, has=grants_of(key))
    services.key_set_grants(key=key, grants=grants)
    _audit(key, "change grants of key", by, {"grants": written_grants(grants)})


@transaction.atomic
def key_set_quotas(*, key: Key, quotas: Mapping[str, int], by: Operator) -> None:
    services.key_set_quotas(key=key, quotas=quotas)
    _audit(key, "change quotas of key", by, {"quotas": dict(quotas)})


@transaction.atomic
def key_set_addresses(*, key: Key, addresses: Sequence[str], by: Operator) -> None:
    services.key_set_addresses(key=key, addresses=addresses)
    _audit(key, "change addresses of key", by, {"addresses": list(addresses)})


def _check_may_give(by: Operator, grants: Grants, has: Grants = NOTHING) -> None:
    """Refuse grants by which a staff member could do with a key what their account may not. `has`: what is there."""
    if by.user is None:
        return
    for pattern, permissions in grants.items():
        for permission in in_usual_order((permissions - has.get(pattern, frozenset())) & NEEDED_TO_GIVE.keys()):
            for may in NEEDED_TO_GIVE[permission]:
                if not allowed(by.user, may):
                    refused = f"Without it, you cannot give the grant {pattern}:{permission}."
                    raise ValidationError(f"{refusal(may)} {refused}")


def _audit_new(new: NewKey, action: str, by: Operator, **details: str) -> None:
    _audit(new.record, action, by, {"grants": written_grants(grants_of(new.record)), **details})


def _audit(key: Key, action: str, by: Operator, details: Mapping[str, Any] | None = None) -> None:
    audit(by=by, action=action, target=key.client.name, details={"prefix": key.prefix, **(details or {})})
