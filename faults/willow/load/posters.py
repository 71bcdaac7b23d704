"""Clients that post."""

import asyncio
import itertools
from contextlib import suppress

from faults.history import Kind, Recorder
from faults.willow.load.client import LoadClient
from faults.willow.load.link import Fields, Link
from faults.willow.load.queues import FETCHED, GROUPED, GROUPS, SLOWLY_READ, SUBSCRIBED

UNDER_WAY = 32  # posts whose last notice has not come
LAST_NOTICES_SECONDS = 40.0
STAGES = (["sync"], ["write"], ["write", "sync"])
PRIORITIES = (0, 0, 0, 5, 9)
LONG_BODY = 20_000  # characters


class Poster(LoadClient):
    """Posts to queues and streams in turn, at a rate."""

    def __init__(
        self, name: str, urls: list[str], recorder: Recorder, seed: int, queues: list[str], rate: float
    ) -> None:
        super().__init__(name, urls, recorder, seed)
        self._queues = queues
        self._pause = 1 / rate
        self._numbers = itertools.count(1)

    async def work(self, link: Link) -> None:
        under_way = asyncio.Semaphore(UNDER_WAY)
        while not self.stopping.is_set():
            await under_way.acquire()
            await self._post(link, under_way)
            await asyncio.sleep(self._pause)
        with suppress(TimeoutError):  # the checker says which posts were never answered
            async with asyncio.timeout(LAST_NOTICES_SECONDS):
                for _ in range(UNDER_WAY):
                    await under_way.acquire()

    async def _post(self, link: Link, under_way: asyncio.Semaphore) -> None:
        label, queue = self.label(), self.random.choice(self._queues)
        body = f"{self.name} {next(self._numbers)}"
        if queue == SLOWLY_READ or self.random.random() < 0.01:
            body += " " + "x" * LONG_BODY
        stages = self.random.choice(STAGES)
        priority = self.random.choice(PRIORITIES) if queue in (FETCHED, SUBSCRIBED) else 0
        group = {"group": self.random.choice(GROUPS)} if queue == GROUPED else {}
        about = {"label": label, "queue": queue, "body": body}

        def on_frame(frame: Fields) -> None:
            if frame["type"] == "error":
                link.note(Kind.REFUSED, code=frame["code"], **about)
            else:
                told = {name: frame[name] for name in ("shard", "sequence", "index") if frame.get(name) is not None}
                link.note(Kind.TOLD, stage=frame["notice"], **about, **told)
            if frame["type"] == "error" or frame["notice"] == stages[-1]:
                link.forget(label)
                under_way.release()

        link.note(Kind.POST, priority=priority, **about)
        post = {"type": "post", "queue": queue, "message": body, "label": label, "notify": stages, "priority": priority}
        await link.send({**post, **group}, on_frame)
