"""Claims whose time ran out, those of clients that did not come back, and requests of workers that fell silent."""

from datetime import datetime

from django.conf import settings

from clients.statements import statement as client_statement
from delivery.engine.assignment import MISSED_HEARTBEATS
from delivery.moves.endings import failing_claim
from delivery.moves.states import Reason
from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement


async def fail_expired_claims(tools: Tools, now: datetime | None) -> int:
    """Claims without a sign of life for too long: the message goes on to the next client."""
    parameters = {"now": now, "limit": LIMIT, "heartbeat": settings.WILLOW.node_heartbeat}
    async with tools.connection.transaction():
        rows = await fetch_rows(tools.connection, statement("expired_claims"), parameters)
        claims = [failing_claim(row, holder=row.holder, client=row.client, reason=Reason.TIMEOUT) for row in rows]
        failures = await tools.endings.fail(tools.connection, claims)
    tools.endings.announce(failures)
    return len(claims)


async def end_overdue_holds(tools: Tools, now: datetime | None) -> int:
    """Clients that asked to be waited for and did not come back."""
    parameters = {"now": now, "limit": LIMIT}
    async with tools.connection.transaction():
        sessions = await fetch_rows(tools.connection, client_statement("overdue_sessions"), parameters)
        claims = []
        for session in sessions:
            held = await fetch_rows(tools.connection, statement("held_by"), {"holder": session.id})
            claims += [
                failing_claim(row, holder=session.id, client=session.client, reason=Reason.DISCONNECTED) for row in held
            ]
        failures = await tools.endings.fail(tools.connection, claims)
        ended = {"session": [session.id for session in sessions]}
        await tools.connection.execute(client_statement("end_sessions"), ended)
    tools.endings.announce(failures)
    return len(sessions)


async def hand_on_requests_of_lost_workers(tools: Tools, now: datetime | None) -> int:
    """Workers whose heartbeat stopped: their requests go to the next in line."""
    parameters = {"now": now, "limit": LIMIT, "lapse": settings.WILLOW.node_lapse, "missed": MISSED_HEARTBEATS}
    async with tools.connection.transaction():
        lost = await fetch_rows(tools.connection, statement("lost_workers"), parameters)
        claims = []
        for worker in lost:
            held = await fetch_rows(tools.connection, statement("held_by"), {"holder": worker.session_id})
            claims += [
                failing_claim(row, holder=worker.session_id, client=worker.identity, reason=Reason.DISCONNECTED)
                for row in held
                if row.queue_id in worker.queue_ids
            ]
        failures = await tools.endings.fail(tools.connection, claims)
    tools.endings.announce(failures)
    return len(lost)
