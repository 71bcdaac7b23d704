"""What is kept only for a time: messages of streams, and clients that are not persistent."""

from datetime import datetime

from django.conf import settings

from clients.statements import statement as client_statement
from delivery.moves import removal
from delivery.reaper.duty import LIMIT, NAME, Tools
from delivery.storage.connection import fetch_rows


async def retain_streams(tools: Tools, now: datetime | None) -> int:
    """Messages of streams that are too old, too many, or read by all."""
    return await removal.retain_streams(tools.connection, limit=LIMIT, by=NAME, now=now)


async def forget_transient_clients(tools: Tools, now: datetime | None) -> int:
    """Clients that are not persistent and have been away for long."""
    parameters = {"now": now, "limit": LIMIT, "seconds": settings.WILLOW.transient_retention}
    [forgotten] = await fetch_rows(tools.connection, client_statement("forget_clients"), parameters)
    return forgotten.count
