"""Several clients of the broker at once, as every scenario needs them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import willow_client
from willow_client import Client

from benchmarks.rates import Meter, per_second


@asynccontextmanager
async def connected(url: str, count: int) -> AsyncIterator[list[Client]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(willow_client.connect(url)) for _ in range(count)]


async def per_second_by_clients(
    url: str, count: int, work: Callable[[Client, Meter], Awaitable[None]], seconds: float
) -> float:
    """How much that many clients do per second, each doing the same work."""
    async with connected(url, count) as clients:
        return await per_second([lambda meter, client=client: work(client, meter) for client in clients], seconds)
