"""Keys change while connections are open: what that does to them."""

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection

from clients.address_ranges import is_within
from clients.auth import principal_from_rows
from clients.models import Permission
from clients.principal import Principal
from clients.statements import statement as client_statement
from delivery.protocol.close_codes import NOT_LET_IN
from delivery.serving.worker import worker_of
from delivery.sessions.session import Session
from delivery.storage.connection import fetch_rows

if TYPE_CHECKING:
    from delivery.node.node import Node


async def refresh_principals(node: "Node", connection: AsyncConnection[Any]) -> None:
    """Close the connections whose key has ended, and give the others the grants that their keys have now."""
    by_key: defaultdict[int, list[Session]] = defaultdict(list)
    for session in node.sessions.values():
        if session.principal.key_id is not None:
            by_key[session.principal.key_id].append(session)
    if not by_key:
        return
    rows = await fetch_rows(connection, client_statement("valid_keys"), {"key": list(by_key)})
    valid = {key_id: principal_from_rows(list(of_key)) for key_id, of_key in groupby(rows, lambda row: row.id)}
    for key_id, sessions in by_key.items():
        for session in sessions:
            _refresh(session, valid.get(key_id))


def _refresh(session: Session, current: Principal | None) -> None:
    if current is None:
        session.hold_nothing()  # nobody can come back with this key
        session.kick(NOT_LET_IN, "This key was revoked or has expired.")
    elif not is_within(session.address, current.addresses):
        session.hold_nothing()
        session.kick(NOT_LET_IN, "This key is no longer good from your address.")
    elif current != session.principal:
        session.change_principal(current)
        _end_what_is_no_longer_granted(session)


def _end_what_is_no_longer_granted(session: Session) -> None:
    """Close a connection that reads or serves something that its key no longer grants."""
    worker = worker_of(session)
    served = set(worker.services) if worker else set()
    read_as_worker = worker.queue_ids if worker else frozenset()
    read = {session.node.directory.name_of(queue_id) for queue_id in session.queues_read() - read_as_worker}
    read |= {subscription.terms.name for subscription in session.subscriptions}
    for permission, names in ((Permission.FETCH, read), (Permission.SERVE, served)):
        for name in sorted(names):
            if not session.principal.may(permission.value, name):
                session.kick(NOT_LET_IN, f"Your key no longer grants `{permission.value}` on {name}.")
                return
