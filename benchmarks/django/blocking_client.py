"""Posting, fetching and finishing one by one: with the blocking client and with the asynchronous one.

Both in a thread of their own, on the event loop that Python has: the process that runs them has another one.
"""

import asyncio
import time

import willow_client
from willow_client import sync

QUEUE = "blocking"
BODY = b"x" * 100


async def asynchronous(url: str, seconds: float) -> float:
    """Messages a second, from post to finish."""
    return await asyncio.to_thread(lambda: asyncio.run(_await(url, seconds)))


async def _await(url: str, seconds: float) -> float:
    done = 0
    async with willow_client.connect(url) as client:
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            await client.post(QUEUE, BODY)
            message = await client.fetch(QUEUE)
            assert message is not None
            await message.finish()
            done += 1
        return done / (time.perf_counter() - began)


async def blocking(url: str, seconds: float) -> float:
    return await asyncio.to_thread(_block, url, seconds)


def _block(url: str, seconds: float) -> float:
    done = 0
    with sync.connect(url) as client:
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            client.post(QUEUE, BODY)
            message = client.fetch(QUEUE)
            assert message is not None
            message.finish()
            done += 1
        return done / (time.perf_counter() - began)
