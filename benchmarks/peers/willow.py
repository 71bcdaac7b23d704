"""Willow itself, through its Python client."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import willow_client
from willow_client import Client, Message

from benchmarks.broker_process import BrokerProcess
from willow_site.embedded.postgres import throwaway_postgres

NAME = "Willow"
DURABILITY = "on disk"
QUEUE = "peers"


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with throwaway_postgres() as database_url:
        broker = BrokerProcess(database_url)
        try:
            broker.migrate()
            broker.start()
            yield broker.url
        finally:
            broker.remove()


class WillowConnection:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.gather(*(self._client.post(QUEUE, body) for body in bodies))

    async def take(self, count: int) -> Sequence[Message]:
        return await self._client.fetch_many(QUEUE, count)

    async def finish(self, taken: Sequence[Message]) -> None:
        await asyncio.gather(*(message.finish() for message in taken))


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[WillowConnection]:
    async with willow_client.connect(address) as client:
        yield WillowConnection(client)
