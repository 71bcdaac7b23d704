"""While clients with WebSockets are active, Django begins one request after the other.

Its threads share the interpreter with the event loop. A command of a WebSocket needs it back after each of half a dozen
calls of the system, and waits the longer the more threads want it, too. So the next request begins when the one before
has ended, or has run for so long that it must be waiting for something itself.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from delivery.gateway.loop_share import sockets_are_active

LONG_SECONDS = 0.05


class Starts:
    """`is_needed` says whether requests go one by one just now."""

    def __init__(self, is_needed: Callable[[], bool] = sockets_are_active) -> None:
        self._is_needed = is_needed
        self._under_way: asyncio.TimerHandle | None = None  # which ends it: the newest request is no longer waited for
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        if self._under_way is not None and self._is_needed():
            await self._turn()
        if self._under_way is not None:
            self._under_way.cancel()
        ends = self._under_way = asyncio.get_running_loop().call_later(LONG_SECONDS, self._next)
        try:
            yield
        finally:
            if self._under_way is ends:
                ends.cancel()
                self._next()

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was its turn, and it has gone
                self._next()
            raise

    def _next(self) -> None:
        self._under_way = None
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
