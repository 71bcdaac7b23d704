"""Clients that read streams under a name."""

import asyncio

from faults.history import Recorder
from faults.willow.load.client import LoadClient
from faults.willow.load.link import Fields, Link

RETRY_SECONDS = 0.3
SUBSCRIPTION = 1_000_000_000  # the label of the subscription, over all connections


class StreamReader(LoadClient):
    """Registered, so its position outlives its connection. It acknowledges in the order in which messages come."""

    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int, stream: str) -> None:
        super().__init__(name, urls, recorder, seed)
        self._stream = stream

    async def work(self, link: Link) -> None:
        came: asyncio.Queue[Fields] = asyncio.Queue()
        link.on_frame[SUBSCRIPTION] = came.put_nowait  # registering restores it, and its messages come at once
        while not await self._registered(link):
            await asyncio.sleep(RETRY_SECONDS)
        command = {"type": "subscribe", "queue": self._stream, "from": "oldest", "in_flight": 32, "label": SUBSCRIPTION}
        await link.send(command, came.put_nowait)
        while not self.stopping.is_set() or not came.empty():
            try:
                frame = await asyncio.wait_for(came.get(), RETRY_SECONDS)
            except TimeoutError:
                continue
            if frame["type"] == "message":
                self.received(link, frame)
                await self.say(link, "finish", frame, response=self.random.choice(("write", "sync")))
            elif frame["type"] == "error" and frame["code"] != "NoObject":  # that one tells of indexes that are gone
                return  # and try again on another connection

    async def _registered(self, link: Link) -> bool:
        register = {"type": "register", "name": self.name, "persistent": True, "label": self.label()}
        frame = await self.answer(link, register)
        return frame is not None and frame["type"] == "registered"
