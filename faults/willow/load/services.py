"""Request and reply: clients that ask a service, and workers that answer."""

import asyncio
import itertools
import time

from faults.history import Kind, Recorder
from faults.verdicts.replies import PREFIX
from faults.willow.load.client import LoadClient
from faults.willow.load.link import Fields, Link

REQUEST_SECONDS = 20.0  # within which a reply must come
HEARTBEAT_SECONDS = 5.0
ASK_PAUSE_SECONDS = 0.1
SLOTS = 4


class Frontend(LoadClient):
    """One request after the other."""

    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int, service: str) -> None:
        super().__init__(name, urls, recorder, seed)
        self._service = service
        self._numbers = itertools.count(1)

    async def work(self, link: Link) -> None:
        while not self.stopping.is_set():
            label, body = self.label(), f"{self.name} {next(self._numbers)}"
            about = {"label": label, "queue": f"service:{self._service}"}
            link.note(Kind.POST, body=body, seconds=REQUEST_SECONDS, **about)
            command = {"type": "workrequest", "service": self._service, "body": body, "label": label}
            frame = await self.answer(link, {**command, "timeout": REQUEST_SECONDS})
            if frame is None:
                return
            if frame["type"] == "workreply":
                link.note(Kind.TOLD, stage="reply", body=frame["body"], **about)
            else:
                link.note(Kind.REFUSED, code=frame["code"], **about)
            await asyncio.sleep(ASK_PAUSE_SECONDS)


class ServiceWorker(LoadClient):
    """Its clock is that of its process, which a fault may set."""

    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int, service: str) -> None:
        super().__init__(name, urls, recorder, seed)
        self._service = service
        self._version = ""

    async def work(self, link: Link) -> None:
        came: asyncio.Queue[Fields] = asyncio.Queue()
        link.on_frame[None] = came.put_nowait  # nothing that a worker gets has a label
        await self._negotiate(link)
        while not self.stopping.is_set():
            try:
                frame = await asyncio.wait_for(came.get(), HEARTBEAT_SECONDS / 2)
            except TimeoutError:
                await self._send(link, "ping")
                continue
            if frame["type"] in ("disconnecterror", "changebroker"):
                await asyncio.sleep(ASK_PAUSE_SECONDS)
                return
            await self._handle(link, frame)

    async def _handle(self, link: Link, frame: Fields) -> None:
        if frame["type"] == "config":
            self._version = frame["config_version"]
            await self._ready(link)
        elif frame["type"] == "forcenegotiate":
            await self._negotiate(link)
        elif frame["type"] == "workrequest":
            identifier = frame["work_request_identifier"]
            await self._send(link, "workreply", work_request_identifier=identifier, body=PREFIX + frame["body"])
            await self._ready(link)

    async def _negotiate(self, link: Link) -> None:
        identity = {"identity": self.name, "services": [self._service]}
        await link.send({"type": "checkconfig", "config_type": "JSON", **identity})

    async def _ready(self, link: Link) -> None:
        await self._send(link, "ready", services=[self._service], heartbeat_interval=HEARTBEAT_SECONDS, slots=SLOTS)

    async def _send(self, link: Link, kind: str, **fields: object) -> None:
        await link.send({"type": kind, "time": time.time(), "config_version": self._version, **fields})
