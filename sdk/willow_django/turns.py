"""So many tasks run at a time. Others have come already, and wait here for their turn, or are given back."""

import asyncio
from collections import deque

from willow_client import GiveBack


class Turns:
    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._most_waiting: int | None = None
        self._is_over = False
        self.ended = 0

    async def take(self) -> None:
        """First come, first served. Raises `GiveBack` if so many may not wait any longer."""
        if self._is_over:
            raise GiveBack
        if self._free:
            self._free -= 1
        else:
            await self._wait()

    def stop(self) -> None:
        """No more turns begin."""
        self._is_over = True
        self.keep(0)

    def keep(self, most_waiting: int) -> None:
        """From here on. Those that came last are given back."""
        self._most_waiting = most_waiting
        while len(self._waiting) > most_waiting:
            waiter = self._waiting.pop()
            if not waiter.done():
                waiter.set_exception(GiveBack())

    async def _wait(self) -> None:
        if self._most_waiting is not None and len(self._waiting) >= self._most_waiting:
            raise GiveBack
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif not waiter.cancelled() and waiter.exception() is None:
                self._next()  # it was its turn when it was cancelled
            raise

    def end(self) -> None:
        """Of a turn that was taken: the next one begins."""
        self.ended += 1
        self._next()

    def _next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
