"""Schedules: what is due is posted, and somebody watches the clock."""

from datetime import datetime

from delivery.reaper.duty import NAME, Tools
from delivery.schedules.runs import post_due
from delivery.schedules.watch import seconds_to_next
from delivery.schedules.watch import watch_clock as note_the_time

STEPS = 10  # in one round, so that a large backlog does not keep the reaper from its other duties


async def post_schedules(tools: Tools, now: datetime | None) -> int:
    """Messages of schedules whose time has come."""
    done = 0
    for _ in range(STEPS):
        async with tools.connection.transaction():
            posted = await post_due(tools.connection, now, by=NAME)
        if posted is None:
            break
        done += len(posted.runs)
        for queue_id in posted.made:
            tools.queue_made(queue_id)
        for queue_id, messages in posted.arrived.items():
            tools.became_ready(queue_id, messages)
        if posted.left_notices:
            tools.notices_left()
    return done


async def next_schedule(tools: Tools) -> float | None:
    """Seconds until one is due."""
    return await seconds_to_next(tools.connection)


async def watch_clock(tools: Tools, now: datetime | None) -> int:
    """Note that a reaper is there, so that what comes due from now on is not missed."""
    return await note_the_time(tools.connection, now)
