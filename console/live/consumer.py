"""The WebSocket at /console/live/, for staff with a session. A page names what it watches, and gets updates."""

import asyncio
import json
from contextlib import suppress
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import Http404

from console.live.feeds import feeds
from console.live.parts import Watched
from console.second_factor import lacking
from delivery.operating.permissions import May, allowed, permissions_of

NOT_ALLOWED = 4403
BAD_REQUEST = 4400
CHECK_SECONDS = 30.0  # after which a logout or a lost permission is noticed
LONGEST_ADDRESS = 2000  # characters


class LiveConsumer(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        self._watched: Watched | None = None
        self._news: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=1)
        self._may = await self._permissions()
        await self.accept()
        if self._may is None:
            await self.close(NOT_ALLOWED)
            return
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._send_news()), loop.create_task(self._check_now_and_then())]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._may is None:  # said before it heard that its socket is closed
            return
        address = _address(text_data)
        if address is None:
            await self.close(BAD_REQUEST)
            return
        self._let_go()
        watched = Watched(address, self._may)
        try:
            feeds.watch(watched, self._push)
        except (Http404, ValueError):  # ValueError: not an address, such as `http://[`
            await self.close(BAD_REQUEST)
        else:
            self._watched = watched

    async def disconnect(self, code: int) -> None:
        self._let_go()
        for task in getattr(self, "_tasks", ()):
            task.cancel()

    def _push(self, news: dict[str, Any]) -> None:
        """A slow reader gets the newest update, not all of them."""
        with suppress(asyncio.QueueEmpty):
            self._news.get_nowait()
        self._news.put_nowait(news)

    async def _send_news(self) -> None:
        while True:
            await self.send(text_data=json.dumps(await self._news.get()))

    async def _check_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if await self._permissions() != self._may:
                await self.close(NOT_ALLOWED)
                return

    async def _permissions(self) -> frozenset[str] | None:
        """What this person may do now; None if they may not look. The session is read again: it may have ended."""
        session = _session_store(self.scope["session"].session_key)
        user = await get_user({"session": session})
        return await database_sync_to_async(_permissions_of)(user, session)

    def _let_go(self) -> None:
        if self._watched is not None:
            feeds.unwatch(self._watched, self._push)
            self._watched = None


def _session_store(key: str | None) -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore(key)


def _permissions_of(user: Any, session: Any) -> frozenset[str] | None:
    if not allowed(user, May.LOOK) or lacking(user, session) is not None:
        return None
    return frozenset(name for name, is_allowed in permissions_of(user).items() if is_allowed)


def _address(text: str | None) -> str | None:
    """What the page asks to watch: {"watch": "/console/queues/?page=2"}."""
    try:
        asked = json.loads(text or "")
    except ValueError:
        return None
    address = asked.get("watch") if isinstance(asked, dict) else None
    return address if isinstance(address, str) and len(address) <= LONGEST_ADDRESS else None
