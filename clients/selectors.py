"""Reads about clients, their keys and their sessions."""

from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from clients.grants import Grants
from clients.models import Client, Key, Session


def client_named(name: str) -> Client:
    client = Client.objects.filter(name=name).first()
    if client is None:
        raise ValidationError(f"There is no client {name!r}; `manage.py key list` shows the clients that have keys.")
    return client


def live_session_of(client: Client) -> Session | None:
    """The client's session, if it is on a node that is alive."""
    alive = Now() - timedelta(seconds=settings.WILLOW.node_lapse)
    return client.sessions.filter(ended_at=None, node__heartbeat_at__gt=alive).select_related("node").first()


def keys_with_grants() -> QuerySet[Key]:
    return Key.objects.select_related("client").prefetch_related("grants").order_by("client__name", "id")


def key_with_prefix(prefix: str) -> Key:
    key = keys_with_grants().filter(prefix=prefix).first()
    if key is None:
        raise ValidationError(f"There is no key {prefix!r}; `manage.py key list` shows how keys are named.")
    return key


def grants_of(key: Key) -> Grants:
    return {grant.pattern: frozenset(grant.permissions) for grant in key.grants.all()}


def key_state(key: Key) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None and key.expires_at <= timezone.now():
        return "expired"
    return "valid"
