"""The same clients for every peer: they post, take and finish, and note what they saw."""

import asyncio
import itertools
import random
import time
from contextlib import suppress
from typing import Any

from faults.history import Kind, Recorder
from faults.peers import CLAIM_SECONDS, PeerConnection, Taken
from faults.peers.adapters import Connect

SHARD, QUEUE = 1, "peer"
RETRY_SECONDS = 0.3
ANSWER_SECONDS = 35.0


class PeerClient:
    """A connection that is made again whenever anything goes wrong with it."""

    def __init__(self, name: str, url: str, connect: Connect, recorder: Recorder, seed: int) -> None:
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.stopping = asyncio.Event()
        self._url = url
        self._connect = connect
        self._recorder = recorder
        self._labels = itertools.count(1)
        self._number = 0

    def note(self, kind: Kind, **details: Any) -> None:
        self._recorder.note(self.name, kind, connection=self._number, queue=QUEUE, **details)

    async def run(self, pause: float, *, posts: bool) -> None:
        work = self._post if posts else self._consume
        while not self.stopping.is_set():
            self._number += 1
            try:
                connection = await self._connect(self._url, f"{self.name}.{self._number}")
            except Exception:  # the peer is away: each says so in its own way
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self.note(Kind.CONNECTED, session=f"{self.name}.{self._number}")
            with suppress(Exception):  # as above; the history says what was confirmed before
                while not self.stopping.is_set():
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await work(connection)
                    await asyncio.sleep(pause)
            self.note(Kind.LOST)
            with suppress(Exception):
                await connection.close()

    async def _post(self, connection: PeerConnection) -> None:
        label = next(self._labels)
        body = f"{self.name} {label}"
        self.note(Kind.POST, label=label, body=body)
        number = await connection.post(body)
        self.note(Kind.TOLD, label=label, body=body, stage="sync", shard=SHARD, index=number or 0)

    async def _consume(self, connection: PeerConnection) -> None:
        asked = time.monotonic()
        taken = await connection.take()
        left = max(CLAIM_SECONDS - (time.monotonic() - asked), 0.0)  # if the claim began as early as it can have
        for message in taken:
            self.note(Kind.RECEIVED, body=message.body, seconds=left, **_numbers(message))
        for message in taken:
            if self.random.random() < 0.01:
                continue  # forgotten: its time runs out
            label = next(self._labels)
            self.note(Kind.SAY, verb="finish", label=label, **_numbers(message))
            ended = await connection.finish(message)
            if ended:
                self.note(Kind.CONFIRMED, verb="finish", label=label, stage="sync", **_numbers(message))
            elif ended is not None:
                self.note(Kind.REFUSED, verb="finish", label=label, code="NoObject", **_numbers(message))


def _numbers(message: Taken) -> dict[str, int]:
    return {"shard": SHARD, "index": message.number, "attempt": message.attempt}
