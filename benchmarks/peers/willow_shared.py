"""Willow with one connection for all clients of a process, and a subscription for those that take."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import willow_client
from willow_client import Client

from benchmarks.peers.connection import Taken
from benchmarks.peers.pushed import Pushed
from benchmarks.peers.willow import CONFIRM, QUEUE, finish_all, missing, post_all, serving
from benchmarks.peers.workload import CLIENTS, PATIENCE

__all__ = ["CONFIRM", "MODE", "NAME", "connect", "missing", "serving"]

NAME = "Willow, one connection, subscribe"
MODE = "by subscribe"


class SharedConnection:
    """Everybody's connection. The first who takes begins the subscription: as many messages as all of them take."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pushed = Pushed()
        self._reading: asyncio.Task[None] | None = None

    async def post(self, bodies: Sequence[bytes]) -> None:
        await post_all(self._client, bodies)

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(self._client.subscribe(QUEUE, in_flight=count * CLIENTS)))
        return await self._pushed.take(count, wait or PATIENCE)

    async def _read(self, subscription: Any) -> None:
        async for message in subscription:
            self._pushed.put(Taken(message, message.body))

    async def finish(self, taken: Sequence[Taken]) -> None:
        await finish_all(self._client, taken)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)


_shared: dict[str, SharedConnection] = {}  # by address


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[SharedConnection]:
    """The first one opens the connection, and the same one closes it: contexts are left in the other order."""
    if address in _shared:
        yield _shared[address]
        return
    async with willow_client.connect(address) as client:
        _shared[address] = shared = SharedConnection(client)
        try:
            yield shared
        finally:
            del _shared[address]
            await shared.close()
