"""Nodes that fell silent, and the sessions that they leave behind."""

from datetime import datetime

from django.conf import settings

from clients.statements import statement as client_statement
from delivery.moves.leases import restart_leases
from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.statements import statement

FORGET_NODES_SECONDS = 86_400.0
FORGET_ORDERS_SECONDS = 60.0  # nodes that are alive look every second


async def take_over_from_silent_nodes(tools: Tools, now: datetime | None) -> int:
    """Their clients keep their claims, whose time starts again from zero."""
    async with tools.connection.transaction():
        parameters = {"now": now, "lapse": settings.WILLOW.node_lapse}
        cursor = await tools.connection.execute(client_statement("orphan_sessions"), parameters)
        orphans = [session_id for (session_id,) in await cursor.fetchall()]
        if orphans:
            await restart_leases(tools.connection, orphans)
    return len(orphans)


async def forget_nodes(tools: Tools, now: datetime | None) -> int:
    """Nodes that have been silent for long."""
    parameters = {"now": now, "seconds": FORGET_NODES_SECONDS}
    return (await tools.connection.execute(client_statement("forget_nodes"), parameters)).rowcount


async def forget_session_orders(tools: Tools, now: datetime | None) -> int:
    """Orders for sessions that are gone."""
    parameters = {"now": now, "seconds": FORGET_ORDERS_SECONDS}
    return (await tools.connection.execute(statement("forget_session_orders"), parameters)).rowcount


async def forget_sessions(tools: Tools, now: datetime | None) -> int:
    """Ids of ended sessions that nobody took up again."""
    parameters = {"now": now, "limit": LIMIT, "seconds": settings.WILLOW.session_retention}
    ended = await tools.connection.execute(client_statement("end_orphans"), parameters)
    forgotten = await tools.connection.execute(client_statement("forget_sessions"), parameters)
    return ended.rowcount + forgotten.rowcount
