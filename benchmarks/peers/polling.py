"""Waiting for messages of a peer that can only be asked again and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.peers.connection import Taken

POLL_SECONDS = 0.005


async def poll(take: Callable[[], Awaitable[Sequence[Taken]]], wait: float) -> Sequence[Taken]:
    deadline = time.perf_counter() + wait
    while not (taken := await take()) and time.perf_counter() < deadline:
        await asyncio.sleep(POLL_SECONDS)
    return taken
