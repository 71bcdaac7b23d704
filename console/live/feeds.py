"""What this node pushes: one feed for each watched part, however many people watch it, and none for the others."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from channels.db import database_sync_to_async
from django.db import Error
from django.http import Http404

from console.live.parts import Watched
from console.once_per_node import PATIENCE
from console.query_time import query_time

logger = logging.getLogger(__name__)

Push = Callable[[dict[str, Any]], None]


class Feed:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._every = watched.part().every
        self._last: dict[str, Any] | None = None
        self.watchers: set[Push] = set()

    def join(self, push: Push) -> None:
        self.watchers.add(push)
        if self._last is not None:
            push(self._last)

    async def run(self) -> None:
        while True:
            started = time.monotonic()
            self._push(await self._read())
            await asyncio.sleep(max(self._every, (time.monotonic() - started) * PATIENCE))

    async def _read(self) -> dict[str, Any]:
        try:
            # Not on the one thread that all of Channels shares: a slow read would hold up every login.
            html = await database_sync_to_async(self._draw, thread_sensitive=False)()
        except Http404:
            return {"state": "gone"}
        except Error as error:
            logger.warning("A live part could not be read: %s", error)
            return {"state": "lost"}
        except Exception:
            logger.exception("A live part could not be drawn")
            return {"state": "lost"}
        return {"state": "live", "html": html}

    def _draw(self) -> str:
        with query_time():
            return self._watched.draw()

    def _push(self, news: dict[str, Any]) -> None:
        if news == self._last:
            return
        self._last = news
        for push in list(self.watchers):
            push(news)


class Feeds:
    def __init__(self) -> None:
        self._running: dict[Watched, tuple[Feed, asyncio.Task[None]]] = {}

    def watch(self, watched: Watched, push: Push) -> None:
        if watched not in self._running:
            feed = Feed(watched)
            self._running[watched] = (feed, asyncio.get_running_loop().create_task(feed.run()))
        self._running[watched][0].join(push)

    def unwatch(self, watched: Watched, push: Push) -> None:
        if watched not in self._running:
            return
        feed, task = self._running[watched]
        feed.watchers.discard(push)
        if not feed.watchers:
            task.cancel()
            del self._running[watched]

    def __len__(self) -> int:
        return len(self._running)


feeds = Feeds()
