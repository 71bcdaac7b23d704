"""Willow with a connection for each client, and a subscription for each that takes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import willow_client
from willow_client import Client

from benchmarks.peers.connection import Taken
from benchmarks.peers.pushed import Pushed
from benchmarks.peers.willow import CONFIRM, QUEUE, finish_all, missing, post_all, serving
from benchmarks.peers.workload import PATIENCE

__all__ = ["CONFIRM", "MODE", "NAME", "connect", "missing", "serving"]

NAME = "Willow, a connection each, subscribe"
MODE = "by subscribe, a connection each"


class SubscribedConnection:
    """The first who takes begins the subscription: as many messages as all takers of this connection take at once."""

    def __init__(self, client: Client, takers: int = 1) -> None:
        self._client = client
        self._takers = takers
        self._pushed = Pushed()
        self._reading: asyncio.Task[None] | None = None

    async def post(self, bodies: Sequence[bytes]) -> None:
        await post_all(self._client, bodies)

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        if self._reading is None:
            subscription = self._client.subscribe(QUEUE, in_flight=count * self._takers)
            self._reading = asyncio.create_task(self._read(subscription))
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


@asynccontextmanager
async def subscribed(address: str, takers: int = 1) -> AsyncIterator[SubscribedConnection]:
    async with willow_client.connect(address) as client:
        connection = SubscribedConnection(client, takers)
        try:
            yield connection
        finally:
            await connection.close()


connect = subscribed
