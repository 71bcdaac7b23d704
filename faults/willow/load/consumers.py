"""Clients that take messages and finish them, and sometimes do not."""

import asyncio

from faults.history import Kind, Recorder
from faults.willow.load.client import LoadClient
from faults.willow.load.link import Fields, Link

RETRY_SECONDS = 0.2
FETCH_SECONDS = 5.0  # that a fetch or pop waits
WORK_TIMEOUT = 4.0  # seconds; short, so that the end of claims is seen often
IN_FLIGHT = 6
LONG_WORK = 8  # keepalives
READ_PAUSE_SECONDS = 0.25  # of a slow reader


class Consumer(LoadClient):
    """What it does with a message: mostly finish it, but also fail it, give it back, forget it, work long on it."""

    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int, queue: str, resumes: bool) -> None:
        super().__init__(name, urls, recorder, seed)
        self.queue = queue
        self.resumes = resumes
        self._held: dict[tuple[int, int], Fields] = {}

    async def go_on(self, link: Link) -> None:
        """After a reconnect: what this client still holds, it goes on with. Only a keepalive tells what that is."""
        held, self._held = self._held, {}
        if not self.resumes:
            return
        for message in held.values():
            if await self.say(link, "keepalive", message):
                await self._finish(link, message)

    async def handle(self, link: Link, message: Fields) -> None:
        key = (message["shard"], message["index"])
        self._held[key] = message
        dice = self.random.random()
        if dice < 0.01:
            del self._held[key]
            return  # forgotten: its time runs out
        if dice < 0.04:
            for _ in range(LONG_WORK):
                await asyncio.sleep(WORK_TIMEOUT / LONG_WORK)
                if not await self.say(link, "keepalive", message):
                    break
        else:
            await asyncio.sleep(self.random.random() * 0.02)
        if 0.04 <= dice < 0.08:
            await self.say(link, "fail", message, delay=self.random.choice((0, 0.5)), response="write")
        elif 0.08 <= dice < 0.1:
            await self.say(link, "release", message, response="write")
        else:
            await self._finish(link, message)
        if not link.closed.is_set():
            self._held.pop(key, None)

    async def _finish(self, link: Link, message: Fields) -> None:
        await self.say(link, "finish", message, response=self.random.choice(("write", "sync")))


class Fetcher(Consumer):
    async def work(self, link: Link) -> None:
        await self.go_on(link)
        while not self.stopping.is_set():
            label, count = self.label(), self.random.choice((1, 1, 4))
            link.note(Kind.ASK, verb="fetch", label=label, queue=self.queue, count=count, seconds=FETCH_SECONDS)
            for message in await self._fetch(link, label, count):
                await self.handle(link, message)

    async def _fetch(self, link: Link, label: int, count: int) -> list[Fields]:
        came: asyncio.Queue[Fields] = asyncio.Queue()
        command = {"type": "fetch", "queue": self.queue, "block_timeout": FETCH_SECONDS, "work_timeout": WORK_TIMEOUT}
        await link.send({**command, "count": count, "label": label}, came.put_nowait)
        messages = []
        while True:
            frame = await came.get()
            if frame["type"] == "message":
                messages.append(self.received(link, frame))
                if frame["left"]:
                    continue
            elif frame["type"] == "nomessage":
                link.note(Kind.NOTHING, label=label)
            else:
                link.note(Kind.REFUSED, label=label, code=frame["code"])
                await asyncio.sleep(RETRY_SECONDS)
            link.forget(label)
            return messages


class Popper(LoadClient):
    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int, queue: str) -> None:
        super().__init__(name, urls, recorder, seed)
        self._queue = queue

    async def work(self, link: Link) -> None:
        while not self.stopping.is_set():
            label = self.label()
            link.note(Kind.ASK, verb="pop", label=label, queue=self._queue, count=1, seconds=FETCH_SECONDS)
            pop = {"type": "pop", "queue": self._queue, "timeout": FETCH_SECONDS, "label": label}
            frame = await self.answer(link, pop)
            if frame is None:
                return
            if frame["type"] == "message":
                self.received(link, frame)
            elif frame["type"] == "nomessage":
                link.note(Kind.NOTHING, label=label)
            else:
                link.note(Kind.REFUSED, label=label, code=frame["code"])
                await asyncio.sleep(RETRY_SECONDS)


class Subscriber(Consumer):
    """Of a work queue, with several messages in flight."""

    async def work(self, link: Link) -> None:
        await self.go_on(link)
        label = self.label()
        link.note(Kind.ASK, verb="subscribe", label=label, queue=self.queue, count=IN_FLIGHT)
        under_way: set[asyncio.Task[None]] = set()

        def on_frame(frame: Fields) -> None:
            if frame["type"] == "message":
                task = asyncio.create_task(self.handle(link, self.received(link, frame)))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
            elif frame["type"] == "error":
                link.note(Kind.REFUSED, label=label, code=frame["code"])
                refused.set()

        refused = asyncio.Event()
        command = {"type": "subscribe", "queue": self.queue, "in_flight": IN_FLIGHT, "work_timeout": WORK_TIMEOUT}
        try:
            await link.send({**command, "label": label}, on_frame)
            stopping = asyncio.ensure_future(self.stopping.wait())
            trouble = asyncio.ensure_future(refused.wait())
            await asyncio.wait({stopping, trouble}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            for task in under_way:
                task.cancel()


class SlowReader(Subscriber):
    """Reads one frame, and then nothing for a while. The broker has to bear with what is left unread."""

    async def work(self, link: Link) -> None:
        link.pause_seconds = READ_PAUSE_SECONDS
        await super().work(link)
