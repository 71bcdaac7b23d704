"""Messages that come due, and messages whose time to live ended."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import namedtuple_row

from delivery.endings import Failures
from delivery.reaper.duty import LIMIT, Tools
from delivery.states import Reason
from delivery.statements import statement


@dataclass(frozen=True, slots=True)
class Expiry:
    """Why `bury` is called here."""

    reason: str = Reason.EXPIRED.value
    client: str | None = None
    error: str | None = None


async def make_delayed_ready(tools: Tools, now: datetime | None) -> int:
    parameters = {"now": now, "limit": LIMIT, "queue_id": None}
    rows = await (await tools.connection.execute(statement("come_due"), parameters)).fetchall()
    for queue_id, messages in Counter(queue_id for (queue_id,) in rows).items():
        tools.became_ready(queue_id, messages)
    return len(rows)


async def bury_expired_messages(tools: Tools, now: datetime | None) -> int:
    async with tools.connection.transaction(), tools.connection.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(statement("expired_messages"), {"now": now, "limit": LIMIT})
        rows = await cursor.fetchall()
        buried = await tools.endings.bury(tools.connection, [(row, Expiry()) for row in rows])
    tools.endings.announce(Failures([], buried))
    return len(rows)
