"""The same work for every way to ask and to answer: 8 frontends wait for replies, 8 workers give them at once.

A module that takes part has `asking(address)` and `answering(address)`, asynchronous contexts of one frontend, which
gives an `Ask`, and of one worker. A peer also has `NAME`, `missing()` and `serving()`, as the other peers do.
"""

import importlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from benchmarks.rates import Meter, per_second

FRONTENDS = 8
WORKERS = 8
BODY = b"x" * 100

Ask = Callable[[bytes], Awaitable[None]]


async def ask_and_answer(module_name: str, address: str, seconds: float) -> tuple[float, list[float]]:
    """Round trips per second, and how long each took in milliseconds."""
    module = importlib.import_module(module_name)
    waits: list[float] = []

    async def work(ask: Ask, meter: Meter) -> None:
        while meter.running:
            began = time.perf_counter()
            await ask(BODY)
            waits.append((time.perf_counter() - began) * 1000)
            meter.done += 1

    async with AsyncExitStack() as stack:
        for _ in range(WORKERS):
            await stack.enter_async_context(module.answering(address))
        frontends = [await stack.enter_async_context(module.asking(address)) for _ in range(FRONTENDS)]
        rate = await per_second([lambda meter, ask=ask: work(ask, meter) for ask in frontends], seconds)
    return rate, waits
