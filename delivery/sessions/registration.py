"""Registering a client: each name has one live session in the cluster, which takes over what the last one left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from psycopg import AsyncConnection

from clients.models import Permission
from clients.principal import Principal
from clients.statements import statement as client_statement
from delivery.moves.leases import hand_claims_over
from delivery.protocol.errors import Code, WillowError
from delivery.sessions.subscription import SubscriptionTerms
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement


@dataclass(frozen=True, slots=True)
class Registration:
    client_id: int
    name: str
    persistent: bool
    defined_at: datetime
    all_terms: list[SubscriptionTerms]
    held: Sequence[Any]
    record: Sequence[Any]  # rows of client_record.sql


async def register(
    connection: AsyncConnection[Any],
    *,
    session_id: int,
    principal: Principal,
    name: str,
    persistent: bool,
    reads: Iterable[SubscriptionTerms],
) -> Registration:
    """Bind a session to a client. Everything happens in one transaction, guarded by a unique index.

    `reads`: the subscriptions that the session has already.
    """
    async with connection.transaction():
        definition = {"name": name, "persistent": persistent, "owner": principal.client_id}
        [client] = await fetch_rows(connection, client_statement("define_client"), definition)
        _check_may_register(client, principal, name, persistent)
        await _check_quota(connection, client, principal)
        await _take_over(connection, client.id, session_id)
        await _bind(connection, client.id, session_id)
        for terms in reads:
            await save_subscription(connection, client.id, terms)
        subscriptions = await fetch_rows(connection, client_statement("load_subscriptions"), {"client": client.id})
        held = await fetch_rows(connection, statement("held_messages"), {"holder": session_id})
        record = await fetch_rows(connection, statement("client_record"), {"client": client.id})

    def may_read(queue_name: str) -> bool:
        """Its key may have had other grants when the client was last here."""
        return principal.may(Permission.FETCH.value, queue_name)

    all_terms = [_terms(row) for row in subscriptions if may_read(row.name)]
    held = [row for row in held if may_read(row.queue_name)]
    return Registration(client.id, name, persistent, client.defined_at, all_terms, held, record)


def _check_may_register(client: Any, principal: Principal, name: str, persistent: bool) -> None:
    if client.keyed and principal.client_id != client.id:
        reason = f"The client {name} has keys of its own; connect with one of them to be it."
        raise WillowError(Code.PERMISSION_DENIED, name, reason)
    if not client.keyed and not client.owned:
        reason = f"The client {name} belongs to whoever registered it first; connect as then to be it."
        raise WillowError(Code.PERMISSION_DENIED, name, reason)
    if client.persistent != persistent:
        kind = "persistent" if client.persistent else "transient"
        raise WillowError(Code.OBJECT_ALREADY_EXISTS, name, f"The client {name} is registered as {kind}.")


async def _check_quota(connection: AsyncConnection[Any], client: Any, principal: Principal) -> None:
    """Refuse a new name beyond what the owner of the key may have, or all together who have none."""
    most, owner = principal.quotas.clients, principal.client_id
    if not client.is_new or not most or owner == client.id:
        return
    counting = client_statement("names_of_nobody" if owner is None else "names_of_owner")
    [(names,)] = await (await connection.execute(counting, {"owner": owner, "limit": most})).fetchall()
    if names > most:
        raise WillowError(Code.OVERLOADED, "clients", f"The quota `clients` of your key is {most}, which is used up.")


async def _take_over(connection: AsyncConnection[Any], client_id: int, session_id: int) -> None:
    """End the client's earlier session, unless it is live; what that held goes to the new one."""
    parameters = {"client": client_id, "lapse": settings.WILLOW.node_lapse}
    for earlier in await fetch_rows(connection, client_statement("client_session"), parameters):
        if earlier.id == session_id:
            continue
        if earlier.alive:
            reason = f"This client has a live session on the node {earlier.node}."
            raise WillowError(Code.PERMISSION_DENIED, earlier.node, reason)
        await hand_claims_over(connection, earlier=earlier.id, later=session_id)
        await connection.execute(client_statement("end_sessions"), {"session": [earlier.id]})


async def _bind(connection: AsyncConnection[Any], client_id: int, session_id: int) -> None:
    bound = await connection.execute(client_statement("bind_session"), {"client": client_id, "session": session_id})
    if not bound.rowcount:
        raise WillowError(Code.UNAVAILABLE, "session", "This session has ended.")


async def save_subscription(connection: AsyncConnection[Any], client_id: int, terms: SubscriptionTerms) -> None:
    """Keep a subscription for when the client comes back."""
    parameters = {
        "client": client_id,
        "label": terms.label,
        "name": terms.name,
        "tags": list(terms.tags),
        "match": terms.match,
        "in_flight": terms.in_flight,
        "work_timeout": terms.work_timeout,
        "sync": terms.sync,
    }
    await connection.execute(client_statement("save_subscription"), parameters)


def _terms(row: Any) -> SubscriptionTerms:
    label = None if row.label is None else int(row.label)
    return SubscriptionTerms(label, row.name, tuple(row.tags), row.match, row.in_flight, row.work_timeout, row.sync)
