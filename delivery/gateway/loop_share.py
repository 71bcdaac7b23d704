"""How much of the event loop one connection may have while others use it too.

A turn is short, but a client that sends without end has one turn after the other, and an answer to anybody else needs
several turns of the loop. So whoever has used up a turn pauses for twice as long, if others were there lately. Where
many are busy, their turns fill each other's pauses, and nothing is lost; a client that is alone never pauses. What is
of no use to anybody, such as frames that cannot be read, counts several times.
"""

from __future__ import annotations

import asyncio
import time

from delivery.storage.presence import LONG_AGO, clients_here

TIMES, TIMES_FOR_NOTHING = 2, 8
MOST_REST_SECONDS = 0.25


def sockets_are_active() -> bool:
    """Whether a client with a WebSocket was there lately."""
    return clients_here.has_others(None)


class Turnstile:
    """Lets one at a time go on, each in a pass of the loop of its own.

    The pauses of twenty busy connections may end in the same pass: then nobody else had a turn before all twenty had
    theirs.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def go_through(self) -> None:
        async with self._turn:
            await asyncio.sleep(0)


_turnstile = Turnstile()


class LoopShare:
    """Of one connection: what reads its frames and what carries out its commands have one together."""

    __slots__ = ("_rested_at",)

    def __init__(self) -> None:
        self._rested_at = LONG_AGO

    def is_here(self) -> None:
        clients_here.note(self)

    def was_busy(self, seconds: float) -> None:
        """What it is sent is on its account, too: its next pause is longer by that."""
        if clients_here.has_others(self):
            self._rest_for(TIMES * seconds)

    async def step_back(self, busy_seconds: float, *, for_nothing: bool = False) -> None:
        """Pause, if others are there, and go on when none of the others that were as busy does so."""
        pause = self.pause_after(busy_seconds, for_nothing=for_nothing)
        await asyncio.sleep(pause)
        if pause > 0:
            await _turnstile.go_through()

    def pause_after(self, busy_seconds: float, *, for_nothing: bool = False) -> float:
        """For how many seconds others go first, now that it was busy for so long."""
        if not clients_here.has_others(self):
            return 0.0
        self._rest_for((TIMES_FOR_NOTHING if for_nothing else TIMES) * busy_seconds)
        return self._rested_at - time.perf_counter()

    def _rest_for(self, seconds: float) -> None:
        now = time.perf_counter()
        self._rested_at = min(max(self._rested_at, now) + seconds, now + MOST_REST_SECONDS)
