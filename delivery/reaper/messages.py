"""Messages that come due, and messages whose time to live ended."""

from datetime import datetime

from delivery.moves.dead_letters import bury
from delivery.moves.endings import Failures
from delivery.moves.waiting import come_due
from delivery.reaper.duty import LIMIT, NAME, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement
from delivery.wakeups.expiries import Expiry


async def make_delayed_ready(tools: Tools, now: datetime | None) -> int:
    """Nodes do that themselves at the moment they come due, and are counted here; the reaper does what they missed."""
    ready = await come_due(tools.connection, limit=LIMIT, now=now)
    for queue_id, messages in ready.items():
        tools.became_ready(queue_id, messages)
    return ready.total()


async def bury_expired_messages(tools: Tools, now: datetime | None) -> int:
    """Messages that are older than their time to live become dead letters."""
    parameters = {"now": now, "limit": LIMIT}
    async with tools.connection.transaction():
        rows = await fetch_rows(tools.connection, statement("expired_messages"), parameters)
        buried = await bury(tools.connection, [(row, Expiry()) for row in rows], node_id=None, node_name=NAME)
    tools.endings.announce(Failures([], buried))
    return len(rows)
