"""A thousand requests of which only the first line comes, and others in their place when they are ended."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

from benchmarks.neighbours.attacker import Spoils, Target, deadline, is_over
from benchmarks.neighbours.http_request import HttpRequest

NAME = "half-requests"
AT_ONCE = 1010
LOOK_SECONDS = 0.2


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    end = deadline(seconds)
    async with AsyncExitStack() as stack:
        for _ in range(AT_ONCE):
            request = HttpRequest(target, "GET /healthz HTTP/1.1", is_whole=False)
            try:
                await stack.enter_async_context(request)
            except OSError as error:
                got[type(error).__name__] += 1
            else:
                got["connected"] += 1
        while not is_over(end):
            await asyncio.sleep(LOOK_SECONDS)
    return got
