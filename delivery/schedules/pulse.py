"""Whether this process went on all the time, as one that somebody stops, or whose machine sleeps, does not."""

import asyncio
import time

BEAT_SECONDS = 1.0
STANDSTILL_SECONDS = 10.0  # between two beats: a busy machine may keep a process waiting for a few


class Pulse:
    """It beats also while a duty waits for the database: a reaper that is busy is late, and has missed nothing."""

    def __init__(self) -> None:
        self._beat_at = time.time()  # not the monotonic clock, which stops while a machine sleeps
        self._stood_still = False

    async def beat(self) -> None:
        while True:
            self._look_at_clock()
            await asyncio.sleep(BEAT_SECONDS)

    def stood_still(self) -> bool:
        """Since this was asked last."""
        self._look_at_clock()
        stood_still, self._stood_still = self._stood_still, False
        return stood_still

    def _look_at_clock(self) -> None:
        now = time.time()
        self._stood_still |= now - self._beat_at > STANDSTILL_SECONDS
        self._beat_at = now
