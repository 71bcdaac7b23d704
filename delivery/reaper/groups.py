"""Groups that nobody else has decided about, and those of queues whose bound on groups was changed."""

from datetime import datetime

from delivery.moves.groups import arrange_next_groups, settle_groups
from delivery.reaper.duty import LIMIT, Tools
from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement


async def settle_touched_groups(tools: Tools, now: datetime | None) -> int:
    """Groups that operators changed, or that nodes left undecided when they died: their next messages become ready."""
    ready = await settle_groups(tools.connection)
    for queue_id, messages in ready.items():
        tools.became_ready(queue_id, messages)
    return ready.total()


async def regroup_queues(tools: Tools, now: datetime | None) -> int:
    """A step through the groups of a queue: more of each may go than before, or fewer."""
    async with tools.connection.transaction():
        rows = await fetch_rows(tools.connection, statement("next_regrouping"), {})
        if not rows:
            return 0
        [(queue_id, after)] = rows
        ready, last = await arrange_next_groups(tools.connection, queue_id, after)
        await tools.connection.execute(statement("regrouping_stepped"), {"queue_id": queue_id, "last": last})
    for ready_queue_id, messages in ready.items():
        tools.became_ready(ready_queue_id, messages)
    return LIMIT if last or ready else 1
