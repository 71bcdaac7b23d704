"""Whether a reaper was there when a schedule came due."""

from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.storage.connection import fetch_rows
from delivery.storage.statements import statement

CHANGED = "willow_schedules"  # the channel on which reapers are told that somebody changed a schedule
AWAY_SECONDS = 3.0  # without a reaper; shorter gaps are those between one reaper and the next, and nothing is missed


async def begin_watch(connection: AsyncConnection[Any], now: datetime | None = None) -> None:
    """To be called when a reaper has connected, before it posts anything. It hears of changes from here on."""
    await connection.execute(f"LISTEN {CHANGED}")
    await connection.execute(statement("begin_watch"), {"now": now, "away": AWAY_SECONDS})


async def watch_clock(connection: AsyncConnection[Any], now: datetime | None = None) -> int:
    """To be called every second, by each reaper that could post what comes due."""
    return (await connection.execute(statement("watch_clock"), {"now": now})).rowcount


async def seconds_to_next(connection: AsyncConnection[Any], now: datetime | None = None) -> float | None:
    rows = await fetch_rows(connection, statement("next_schedule"), {"now": now})
    return rows[0].seconds if rows else None
