"""Changes of clients and keys. A ValidationError says in one sentence what cannot be done, and why."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least, Now
from django.utils import timezone

from clients.address_ranges import read_ranges
from clients.auth import key_digest
from clients.grants import Grants, check_grants, in_usual_order
from clients.models import PREFIX_LENGTH, Client, Grant, Key, Session
from clients.quotas import check_quotas
from clients.selectors import grants_of, key_state, live_session_of
from queues.definitions import NAME_RULE, is_name

KEY_MARK = "wk_"  # lets people, and scanners for leaked secrets, recognise a key of Willow
KEY_BYTES = 32  # of randomness
NO_GRACE = timedelta(0)
NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key at the only moment when it can be read: nothing but its hash is stored."""

    record: Key
    secret: str


def client_define(*, name: str, persistent: bool) -> Client:
    """The client of that name, made if there is none."""
    if not is_name(name):
        raise ValidationError(f"A client's name must be {NAME_RULE}, not {name!r}.")
    client, _ = Client.objects.get_or_create(name=name, defaults={"persistent": persistent})
    if persistent and not client.persistent:
        raise ValidationError(f"The client {name} already exists, and it is not persistent.")
    return client


def client_delete(*, client: Client) -> None:
    """Remove a client that is away, with its keys, subscriptions and positions."""
    with transaction.atomic():
        Client.objects.select_for_update().get(pk=client.pk)
        session = live_session_of(client)
        if session is not None:
            raise ValidationError(f"The client {client} is connected to the node {session.node}.")
        # An identity must not outlive its key: without one, anybody anonymous could take it up again.
        Session.objects.filter(key__client=client).delete()
        client.delete()


def key_create(
    *,
    client_name: str,
    persistent: bool = False,
    grants: Grants,
    expires_at: datetime | None = None,
    quotas: Mapping[str, int] = NOTHING,
    addresses: Sequence[str] = (),
) -> NewKey:
    """A new key for a client, which is made if there is none. A key without grants only says who connects."""
    with transaction.atomic():
        client = client_define(name=client_name, persistent=persistent)
        return _issue(client, grants, expires_at, quotas, addresses)


def key_rotate(*, key: Key, grace: timedelta = NO_GRACE, expires_at: datetime | None = None) -> NewKey:
    """A new key with the same grants, and the same end unless one is given; the old one lasts for the grace."""
    with transaction.atomic():
        old = _locked(key)
        if (state := key_state(old)) != "valid":
            raise ValidationError(f"The key {old.prefix} cannot be rotated, because it is {state}. Create a new one.")
        new = _issue(old.client, grants_of(old), expires_at or old.expires_at, old.quotas, old.addresses)
        if grace > NO_GRACE:
            Key.objects.filter(pk=old.pk).update(expires_at=Least(F("expires_at"), Now() + grace))
        else:
            key_revoke(key=old)
    return new


def key_expire(*, key: Key, at: datetime | None) -> None:
    """The key ends at that time, or never."""
    _check_is_to_come(at)
    with transaction.atomic():
        _check_is_not_revoked(_locked(key))
        Key.objects.filter(pk=key.pk).update(expires_at=at)


def key_revoke(*, key: Key) -> None:
    """The key ends now, and with it the connections that were made with it."""
    Key.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=Now())


def key_set_grants(*, key: Key, grants: Grants) -> None:
    """Permit this and nothing else, also to connections that are there already."""
    check_grants(grants)
    with transaction.atomic():
        _check_is_not_revoked(_locked(key))
        Grant.objects.filter(key=key).delete()
        _write_grants(key, grants)


def key_set_quotas(*, key: Key, quotas: Mapping[str, int]) -> None:
    """These values, and the defaults for the rest, also for connections that are there already."""
    check_quotas(quotas)
    with transaction.atomic():
        _check_is_not_revoked(_locked(key))
        Key.objects.filter(pk=key.pk).update(quotas=dict(quotas))


def key_set_addresses(*, key: Key, addresses: Sequence[str]) -> None:
    """The key is good from these networks only, or from everywhere; connections from elsewhere are closed."""
    ranges = read_ranges(addresses)
    with transaction.atomic():
        _check_is_not_revoked(_locked(key))
        Key.objects.filter(pk=key.pk).update(addresses=ranges)


def _issue(
    client: Client,
    grants: Grants,
    expires_at: datetime | None,
    quotas: Mapping[str, int],
    addresses: Sequence[str],
) -> NewKey:
    check_grants(grants)
    check_quotas(quotas)
    _check_is_to_come(expires_at)
    secret = KEY_MARK + secrets.token_urlsafe(KEY_BYTES)
    key = Key.objects.create(
        client=client,
        prefix=secret[:PREFIX_LENGTH],
        digest=key_digest(secret),
        expires_at=expires_at,
        quotas=dict(quotas),
        addresses=read_ranges(addresses),
    )
    _write_grants(key, grants)
    return NewKey(key, secret)


def _locked(key: Key) -> Key:
    return Key.objects.select_for_update(of=("self",)).select_related("client").get(pk=key.pk)


def _check_is_not_revoked(key: Key) -> None:
    if key.revoked_at is not None:
        raise ValidationError(f"The key {key.prefix} was revoked; create a new one.")


def _check_is_to_come(moment: datetime | None) -> None:
    if moment is not None and moment <= timezone.now():
        raise ValidationError(f"A key must expire in the future, not on {moment:%Y-%m-%d %H:%M:%S %Z}.")


def _write_grants(key: Key, grants: Grants) -> None:
    Grant.objects.bulk_create(
        Grant(key=key, pattern=pattern, permissions=in_usual_order(permissions))
        for pattern, permissions in grants.items()
    )
