"""What the broker knows about a registered client: the record of `registered`, and where the client is connected."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.db import connection

from clients.models import Client
from clients.selectors import live_session_of
from delivery.protocol.frames import SubscriptionRecord
from delivery.storage.statements import statement


def record_rows(rows: Iterable[Any]) -> tuple[SubscriptionRecord, ...]:
    """`subscribed_to` of a record, from the rows of client_record.sql."""
    return tuple(
        SubscriptionRecord(name, tuple(tags), acked_index, tuple(outstanding_index))
        for _, name, tags, acked_index, outstanding_index in rows
    )


def subscribed_to(client: Client) -> tuple[SubscriptionRecord, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement("client_record"), {"client": client.pk})
        return record_rows(cursor.fetchall())


def client_record(client: Client) -> dict[str, Any]:
    session = live_session_of(client)
    return {
        "name": client.name,
        "persistent": client.persistent,
        "defined_at": client.defined_at.isoformat(),
        "subscribed_to": msgspec.to_builtins(subscribed_to(client)),
        "node": session.node.name if session and session.node else None,
        "connected_at": session.connected_at.isoformat() if session else None,
    }
