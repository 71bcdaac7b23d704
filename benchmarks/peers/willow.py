"""Willow itself, through its Python client."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import willow_client
from willow_client import Client

from benchmarks.broker_process import fresh_broker
from benchmarks.peers.connection import Taken

NAME = "Willow, a connection each, fetch"
MODE = "by fetch"
CONFIRM = "committed and flushed"
QUEUE = "peers"


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with fresh_broker() as broker:
        broker.start()
        yield broker.url


class WillowConnection:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def post(self, bodies: Sequence[bytes]) -> None:
        await post_all(self._client, bodies)

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        if count == 1:
            message = await self._client.fetch(QUEUE, block_timeout=wait)
            return [] if message is None else [Taken(message, message.body)]
        taken = await self._client.fetch_many(QUEUE, count, block_timeout=wait)
        return [Taken(message, message.body) for message in taken]

    async def finish(self, taken: Sequence[Taken]) -> None:
        await finish_all(self._client, taken)


async def post_all(client: Client, bodies: Sequence[bytes]) -> None:
    if len(bodies) == 1:
        await client.post(QUEUE, bodies[0])
    else:
        await client.post_many(QUEUE, bodies)


async def finish_all(client: Client, taken: Sequence[Taken]) -> None:
    if len(taken) == 1:
        await taken[0].claim.finish()
    else:
        await client.finish_many(message.claim for message in taken)


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[WillowConnection]:
    async with willow_client.connect(address) as client:
        yield WillowConnection(client)
