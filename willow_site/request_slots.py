"""How many requests Django works on at a time: each has a thread, and mostly a connection to PostgreSQL.

Those of clients and those of operators have slots of their own, so that a key can be revoked however busy its owner
keeps this node. Within each, callers take turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

CLIENTS_SLOTS = 4
OPERATORS_SLOTS = 8
SLOTS = CLIENTS_SLOTS + OPERATORS_SLOTS
CLIENTS_PATHS = ("/api/messages/", "/status/")

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]


class Slots:
    """So many at a time. Whoever has asked least gets the next free one."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by caller; the next one to be served comes first

    @asynccontextmanager
    async def one(self, caller: str) -> AsyncIterator[None]:
        await self._take(caller)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, caller: str) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given a slot, and has gone
                self._give_back()
            raise

    def _give_back(self) -> None:
        while self._waiting:
            caller = next(iter(self._waiting))
            line = self._waiting.pop(caller)
            turn = line.popleft()
            if line:
                self._waiting[caller] = line  # behind the others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class RequestSlots:
    """ASGI middleware around Django."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._of_clients = Slots(CLIENTS_SLOTS)
        self._of_operators = Slots(OPERATORS_SLOTS)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        slots = self._of_clients if scope["path"].startswith(CLIENTS_PATHS) else self._of_operators
        async with slots.one(scope["client"][0] if scope.get("client") else ""):
            await self._application(scope, receive, send)
