"""What every duty of the reaper is: one bounded piece of work that any number of reapers may do at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.endings import Endings

NAME = "reaper"
LIMIT = 500  # rows in one statement, so that none holds its locks for long


@dataclass(frozen=True, slots=True)
class Tools:
    """What duties work with."""

    connection: AsyncConnection[Any]
    endings: Endings
    became_ready: Callable[[int, int], None]
    notices_left: Callable[[], None]
    queue_made: Callable[[int], None]


RunOnce = Callable[[Tools, datetime | None], Awaitable[int]]
DueIn = Callable[[Tools], Awaitable[float | None]]


@dataclass(frozen=True, slots=True)
class Duty:
    """`run_once(tools, now)` does some of the work and says how much; `every` seconds it is due again.

    It is called again at once when it did as much as it could, unless it may take long and others must have their turn.
    A duty that knows when there will be work says so (`due_in`, None: not before something changes).
    """

    name: str
    run_once: RunOnce
    every: float = 0.0
    goes_on: bool = True
    due_in: DueIn | None = None
