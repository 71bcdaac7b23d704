"""Redrives of dead letters, at their rates, and the records for undoing them."""

from datetime import datetime

from delivery.operating.redrive_steps import redrive_step
from delivery.reaper.duty import LIMIT, NAME, Tools
from delivery.storage.statements import statement

STEPS = 10  # in one round, so that a large redrive does not keep the reaper from its other duties


async def redrive_dead_letters(tools: Tools, now: datetime | None) -> int:
    """A few steps of the running jobs, in turn."""
    moved = 0
    for _ in range(STEPS):
        async with tools.connection.transaction():
            step = await redrive_step(tools.connection, now, limit=LIMIT, by=NAME)
        if step is None:
            break
        for queue_id, messages in step.arrived.items():
            tools.became_ready(queue_id, messages)
        if step.left_notices:
            tools.notices_left()
        moved += step.moved + step.returned
    return moved


async def forget_redriven_messages(tools: Tools, now: datetime | None) -> int:
    """What redrives noted of their messages, once they can no longer be undone."""
    parameters = {"now": now, "limit": LIMIT}
    return (await tools.connection.execute(statement("forget_redriven"), parameters)).rowcount
