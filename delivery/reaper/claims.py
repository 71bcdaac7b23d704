"""Claims whose time ran out, and those of clients that did not come back."""

from datetime import datetime
from typing import Any

from clients.statements import statement as client_statement
from delivery.database import fetch_rows
from delivery.endings import FailRequest
from delivery.protocol.errors import WillowError
from delivery.reaper.duty import LIMIT, Tools
from delivery.statements import statement
from delivery.states import Reason


async def fail_expired_claims(tools: Tools, now: datetime | None) -> int:
    parameters = {"now": now, "limit": LIMIT}
    async with tools.connection.transaction():
        rows = await fetch_rows(tools.connection, statement("expired_claims"), parameters)
        claims = [_failing(row, row.holder, row.client, Reason.TIMEOUT) for row in rows]
        failures = await tools.endings.fail(tools.connection, claims)
    tools.endings.announce(failures)
    return len(claims)


async def end_overdue_holds(tools: Tools, now: datetime | None) -> int:
    parameters = {"now": now, "limit": LIMIT}
    async with tools.connection.transaction():
        sessions = await fetch_rows(tools.connection, client_statement("overdue_sessions"), parameters)
        claims = []
        for session in sessions:
            held = await fetch_rows(tools.connection, statement("held_by"), {"holder": session.id})
            claims += [_failing(row, session.id, session.client, Reason.DISCONNECTED) for row in held]
        failures = await tools.endings.fail(tools.connection, claims)
        ended = {"session": [session.id for session in sessions]}
        await tools.connection.execute(client_statement("end_sessions"), ended)
    tools.endings.announce(failures)
    return len(sessions)


def _failing(row: Any, holder: int, client: str | None, reason: Reason) -> FailRequest:
    return FailRequest(
        queue_id=row.queue_id,
        sequence=row.sequence,
        index=row.index,
        holder=holder,
        client=client,
        reason=reason.value,
        answer=_nobody_waits,
    )


def _nobody_waits(error: WillowError | None) -> None:
    """A claim that ended otherwise in the meantime needs no failing."""
