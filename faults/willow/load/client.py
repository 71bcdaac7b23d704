"""A client that comes back whenever it loses its connection."""

import asyncio
import itertools
import random
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

from faults.history import Kind, Recorder
from faults.willow.load.link import Fields, Link, open_link

RETRY_SECONDS = 0.3


class LoadClient(ABC):
    """`resumes`: it comes back with the identity that it had. `options`: of its connections."""

    resumes = False
    options = ""

    def __init__(self, name: str, urls: list[str], recorder: Recorder, seed: int) -> None:
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.stopping = asyncio.Event()
        self._urls = urls
        self._recorder = recorder
        self._labels = itertools.count(1)
        self._session = ""

    def label(self) -> int:
        return next(self._labels)

    async def run(self) -> None:
        """Until it is told to stop."""
        for number in itertools.count(1):
            if self.stopping.is_set():
                return
            url = self.random.choice(self._urls)
            link = await open_link(url, self.name, number, self._recorder, self._session, self.options)
            if link is None:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if self.resumes:
                self._session = link.session
            await self._use(link)

    async def _use(self, link: Link) -> None:
        reading = asyncio.create_task(link.read())
        working = asyncio.create_task(self.work(link))
        lost = asyncio.create_task(link.closed.wait())
        await asyncio.wait({working, lost}, return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        await link.close()
        await reading

    @abstractmethod
    async def work(self, link: Link) -> None:
        """Use the connection until it should be closed."""

    async def answer(self, link: Link, command: Fields) -> Fields | None:
        """The first frame with the command's label; None when the connection is lost before."""
        came: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()

        def on_frame(frame: Fields) -> None:
            if not came.done():
                came.set_result(frame)

        await link.send(command, on_frame)
        lost = asyncio.ensure_future(link.closed.wait())
        either: list[asyncio.Future[Any]] = [came, lost]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            link.forget(command["label"])
        return came.result() if came.done() else None

    def received(self, link: Link, frame: Fields) -> Fields:
        link.note(
            Kind.RECEIVED,
            label=frame["label"],
            queue=frame["queue"],
            body=frame["body"],
            seconds=frame.get("work_timeout") or 0.0,
            ended=frame["finished"],
            **numbers(frame),
            priority=frame["priority"],
            group=frame.get("group", ""),
        )
        return frame

    async def say(self, link: Link, verb: str, message: Fields, **fields: Any) -> bool:
        """Whether it was confirmed."""
        label = self.label()
        about = {**numbers(message), "label": label, "verb": verb, "queue": message["queue"]}
        link.note(Kind.SAY, **about)
        claim = {name: message[name] for name in ("queue", "shard", "sequence", "index")}
        if message["attempt"]:
            claim["attempt"] = message["attempt"]
        frame = await self.answer(link, {"type": verb, **claim, "label": label, **fields})
        if frame is None:
            return False
        if frame["type"] == "error":
            link.note(Kind.REFUSED, code=frame["code"], **about)
            return False
        link.note(Kind.CONFIRMED, stage=frame["notice"], **about)
        return True


def numbers(frame: Fields) -> dict[str, int]:
    return {name: frame[name] for name in ("shard", "sequence", "index", "attempt")}
