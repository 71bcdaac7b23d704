"""Figures of clients and sessions, and the record of a client that `registered` gives."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection

from clients.models import Client
from clients.selectors import live_session_of
from delivery.protocol.frames import SubscriptionRecord
from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement

MOST_QUEUES = 500  # listed for one client
MOST_NAMES = 5  # of queues, beside each client of a list


@dataclass(frozen=True, slots=True)
class ClientFigures:
    """`held` and `behind` count messages: claimed in work queues, and not yet acknowledged in streams."""

    client_id: int
    session_id: int | None
    node: str | None
    connected_at: datetime | None
    held_until: datetime | None
    subscriptions: int
    valid_keys: int
    held: int
    behind: int | None  # None: the client reads no stream
    reads: list[str]  # names of queues: subscribed to, acknowledged in, held of, waited for, or looked into last
    seen_at: datetime | None  # now, if it is connected; None: never


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """A client's progress in one queue. `behind` is for streams only. It counts indexes, including
    messages that retention has removed."""

    queue_id: int
    name: str
    tags: list[str]
    kind: str
    newest_index: int
    acked_index: int
    outstanding: int
    behind: int | None
    held_since: datetime | None


def client_figures(client_ids: Iterable[int]) -> dict[int, ClientFigures]:
    values: dict[str, Any] = {"client_id": list(client_ids), "lapse": settings.WILLOW.node_lapse, "most": MOST_NAMES}
    with bounded_cursor() as cursor:
        cursor.execute(statement("client_figures"), values)
        return {row[0]: ClientFigures(*row) for row in cursor.fetchall()}


def client_progress(client: Client) -> list[QueueProgress]:
    with bounded_cursor() as cursor:
        cursor.execute(statement("client_progress"), {"client": client.pk, "limit": MOST_QUEUES})
        return [QueueProgress(*row) for row in cursor.fetchall()]


def held_by_sessions(session_ids: Iterable[int]) -> dict[int, int]:
    """How many messages each session holds."""
    with bounded_cursor() as cursor:
        cursor.execute(statement("held_counts"), {"session_id": list(session_ids)})
        return dict(cursor.fetchall())


def read_by_sessions(session_ids: Iterable[int]) -> dict[int, list[str]]:
    """Names of queues that each session waits for, holds messages of, or looked into last; as their nodes say."""
    with bounded_cursor() as cursor:
        cursor.execute(statement("read_by_sessions"), {"session_id": list(session_ids)})
        return dict(cursor.fetchall())


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
