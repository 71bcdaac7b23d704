"""So many tasks run at a time. Others have come already, and wait here for their turn until the worker stops."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from willow_client import GiveBack


class Turns:
    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_over = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """First come, first served. Raises `GiveBack` if the worker stops before it is its turn."""
        if self._is_over:
            raise GiveBack
        if self._free:
            self._free -= 1
        else:
            await self._wait()
        try:
            yield
        finally:
            self._next()

    def stop(self) -> None:
        self._is_over = True
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(GiveBack())

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._next()  # it was its turn when it was cancelled
            raise

    def _next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
