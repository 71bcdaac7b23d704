"""How many requests Django works on at a time: each has a thread, and mostly a connection to PostgreSQL.

Those of clients, of operators and of all others have slots of their own, so that a key can be revoked however busy its
owner keeps this node, and whoever knocks at the door keeps nobody from working. Within each, callers take turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

from willow_site.known_callers import FOUND, Caller, Found, KnownCallers

CLIENTS_SLOTS = 4
OPERATORS_SLOTS = 5  # of those who have shown a login or a key with `admin` on `*`
OTHERS_SLOTS = 3  # for logins, and for all who have shown nothing yet
SLOTS = CLIENTS_SLOTS + OPERATORS_SLOTS + OTHERS_SLOTS
CLIENTS_PATHS = ("/api/messages", "/status")

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]


class Slots:
    """So many at a time. Whoever has asked least gets the next free one."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # by caller; the next to be served comes first

    @asynccontextmanager
    async def one(self, caller: Hashable) -> AsyncIterator[None]:
        await self._take(caller)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, caller: Hashable) -> None:
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
    """ASGI middleware around Django. `credential_of` says what a request shows of its caller, if it shows anything."""

    def __init__(self, application: Application, credential_of: Callable[[Scope], bytes | None]) -> None:
        self._application = application
        self._credential_of = credential_of
        self._of_clients = Slots(CLIENTS_SLOTS)
        self._of_operators = Slots(OPERATORS_SLOTS)
        self._of_others = Slots(OTHERS_SLOTS)
        self._known = KnownCallers()

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        credential, found = self._credential_of(scope), Found()
        caller = self._known.who(credential)
        address = scope["client"][0] if scope.get("client") else ""
        # Strangers may show what they like: those of an address have one turn. Good keys behind a proxy have their own.
        async with self._slots(caller, scope["path"]).one(credential if caller else address):
            await self._application({**scope, FOUND: found}, receive, send)
        if found.has_looked:
            self._known.learn(credential, found.caller)

    def _slots(self, caller: Caller | None, path: str) -> Slots:
        if caller is Caller.OPERATOR:
            return self._of_operators
        is_for_clients = any(path == prefix or path.startswith(f"{prefix}/") for prefix in CLIENTS_PATHS)
        return self._of_clients if caller is Caller.CLIENT or is_for_clients else self._of_others
