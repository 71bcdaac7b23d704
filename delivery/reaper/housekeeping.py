"""Lists that only ever grow unless somebody cuts them: free IDs, dedupe texts, notices that nobody came for."""

from datetime import datetime

from django.conf import settings

from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

CROWDED_ROWS = 64  # rows of free IDs of one queue above which they are merged


async def compact_sequences(tools: Tools, now: datetime | None) -> int:
    """Free message IDs, gathered into fewer rows."""
    parameters = {"rows": CROWDED_ROWS, "limit": LIMIT}
    [merged] = await fetch_rows(tools.connection, statement("compact_sequences"), parameters)
    return merged.count


async def restart_idle_sequences(tools: Tools, now: datetime | None) -> int:
    """Queues that are empty start their message IDs again from 1."""
    async with tools.connection.transaction():
        cursor = await tools.connection.execute(statement("idle_queues"), {"limit": LIMIT})
        idle = [queue_id for (queue_id,) in await cursor.fetchall()]
        if not idle:
            return 0
        [restarted] = await fetch_rows(tools.connection, statement("restart_sequences"), {"queue_id": idle})
    return restarted.count


async def forget_dedupe_texts(tools: Tools, now: datetime | None) -> int:
    """Texts of `dedupe` that have been remembered long enough."""
    return (await tools.connection.execute(statement("forget_dedupe"), {"now": now, "limit": LIMIT})).rowcount


async def forget_notices(tools: Tools, now: datetime | None) -> int:
    """Notices that nobody came for."""
    parameters = {"now": now, "limit": LIMIT, "seconds": settings.WILLOW.session_retention}
    return (await tools.connection.execute(statement("forget_notices"), parameters)).rowcount
