"""What only ever grows unless somebody cuts it: IDs, counts of nodes that are gone, dedupe texts, unread notices."""

from datetime import datetime

from django.conf import settings

from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement


async def fold_ended_counts(tools: Tools, now: datetime | None) -> int:
    """Counts of ended messages by nodes that are gone."""
    [folded] = await fetch_rows(tools.connection, statement("fold_ended_counts"), {"limit": LIMIT})
    return folded.count


async def restart_idle_sequences(tools: Tools, now: datetime | None) -> int:
    """Queues that are empty start their message IDs again from 1."""
    [restarted] = await fetch_rows(tools.connection, statement("restart_sequences"), {"limit": LIMIT})
    return restarted.count


async def forget_dedupe_texts(tools: Tools, now: datetime | None) -> int:
    """Texts of `dedupe` that have been remembered long enough."""
    return (await tools.connection.execute(statement("forget_dedupe"), {"now": now, "limit": LIMIT})).rowcount


async def forget_replies(tools: Tools, now: datetime | None) -> int:
    """Replies that were kept as long as their queues said."""
    return (await tools.connection.execute(statement("forget_replies"), {"now": now, "limit": LIMIT})).rowcount


async def forget_excess_replies(tools: Tools, now: datetime | None) -> int:
    """Replies beyond the space that all of them may take."""
    parameters = {"most": settings.WILLOW.kept_reply_bytes, "limit": LIMIT}
    return (await tools.connection.execute(statement("forget_excess_replies"), parameters)).rowcount


async def forget_notices(tools: Tools, now: datetime | None) -> int:
    """Notices that nobody came for."""
    parameters = {"now": now, "limit": LIMIT, "seconds": settings.WILLOW.session_retention}
    return (await tools.connection.execute(statement("forget_notices"), parameters)).rowcount
