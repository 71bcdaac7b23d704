"""Emptying a queue in groups, as fast as eight clients can."""

import asyncio
import time

from willow_client import Client

from benchmarks.clients import connected

CLIENTS = 8
GROUP = 100  # messages


async def drain(url: str, queue: str, messages: int) -> float:
    """Take and finish that many messages; returns how many were finished per second."""
    left = messages

    async def work(client: Client) -> None:
        nonlocal left
        while left > 0:
            size = min(GROUP, left)
            left -= size
            taken = await client.fetch_many(queue, size)
            await asyncio.gather(*(message.finish() for message in taken))
            left += size - len(taken)

    async with connected(url, CLIENTS) as clients:
        began = time.perf_counter()
        await asyncio.gather(*(work(client) for client in clients))
        return messages / (time.perf_counter() - began)
