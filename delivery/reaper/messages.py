"""Messages that come due, and messages whose time to live ended."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from delivery.moves.endings import Failures
from delivery.moves.states import Reason
from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement


@dataclass(frozen=True, slots=True)
class Expiry:
    """Why `bury` is called here."""

    reason: str = Reason.EXPIRED.value
    client: str | None = None
    error: str | None = None


async def make_delayed_ready(tools: Tools, now: datetime | None) -> int:
    """Delays and retries whose time has come."""
    parameters = {"now": now, "limit": LIMIT, "queue_id": None}
    rows = await (await tools.connection.execute(statement("come_due"), parameters)).fetchall()
    for queue_id, messages in Counter(queue_id for (queue_id,) in rows).items():
        tools.became_ready(queue_id, messages)
    return len(rows)


async def bury_expired_messages(tools: Tools, now: datetime | None) -> int:
    """Messages that are older than their time to live become dead letters."""
    parameters = {"now": now, "limit": LIMIT}
    async with tools.connection.transaction():
        rows = await fetch_rows(tools.connection, statement("expired_messages"), parameters)
        buried = await tools.endings.bury(tools.connection, [(row, Expiry()) for row in rows])
    tools.endings.announce(Failures([], buried))
    return len(rows)
