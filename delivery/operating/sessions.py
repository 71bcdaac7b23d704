"""What operators do to sessions: close them, or take away what they hold."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from psycopg import AsyncConnection

from clients.statements import statement as client_statement
from delivery.moves.endings import failing_claim
from delivery.moves.states import Reason
from delivery.operating.announcing import Announcements
from delivery.operating.audit import Operator, audit
from delivery.operating.tally import Tally
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement


def session_disconnect(*, session_id: int, by: Operator) -> Tally:
    """Close a session's socket, on whichever node. The messages that it holds fail at once. Its client may reconnect.

    A session without a socket (held, or orphaned by its node) ends at once.
    """
    return _act("disconnect session", session_id, by, _disconnect)


def session_fail_messages(*, session_id: int, by: Operator) -> Tally:
    """Fail all messages that a session holds, as if its client had sent `fail`. The session stays."""
    return _act("fail messages of session", session_id, by, _fail_messages)


@transaction.atomic
def _act(action: str, session_id: int, by: Operator, act: Any) -> Tally:
    told = Announcements()

    async def work(connection: AsyncConnection[Any]) -> int:
        parameters = {"session": session_id, "lapse": settings.WILLOW.node_lapse}
        rows = await fetch_rows(connection, client_statement("lock_session"), parameters)
        if not rows or rows[0].ended_at is not None:
            raise ValidationError(f"There is no session {session_id}, or it has ended.")
        messages: int = await act(connection, rows[0], told)
        return messages

    tally = Tally(done=operate(work))
    audit(by=by, action=action, target=f"session {session_id}", messages=tally.done, details=tally.as_json())
    told.send()
    return tally


async def _disconnect(connection: AsyncConnection[Any], session: Any, told: Announcements) -> int:
    """Returns how many messages it holds: they fail with it."""
    if session.is_live:
        held = await fetch_rows(connection, statement("held_by"), {"holder": session.id})
        await connection.execute(statement("order_sessions"), {"session": [session.id], "disconnects": True})
        told.orders_left()
        return len(held)
    failed = await _fail(connection, session, Reason.DISCONNECTED, told)
    await connection.execute(client_statement("end_sessions"), {"session": [session.id]})
    return failed


async def _fail_messages(connection: AsyncConnection[Any], session: Any, told: Announcements) -> int:
    failed = await _fail(connection, session, Reason.OPERATOR, told)
    if session.is_live and failed:
        await connection.execute(statement("order_sessions"), {"session": [session.id], "disconnects": False})
        told.orders_left()
    return failed


async def _fail(connection: AsyncConnection[Any], session: Any, reason: Reason, told: Announcements) -> int:
    held = await fetch_rows(connection, statement("held_by"), {"holder": session.id})
    endings = told.endings()
    claims = [failing_claim(row, holder=session.id, client=session.client, reason=reason) for row in held]
    failures = await endings.fail(connection, claims)
    endings.announce(failures)  # collects what the nodes are told after the commit
    return len(failures.rows)
