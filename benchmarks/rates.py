"""Counting what many workers do together per second."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

WARM_UP_SECONDS = 0.5  # connections, prepared statements and caches; not counted


class Meter:
    """Workers add what they have done and stop when `running` turns false."""

    def __init__(self) -> None:
        self.done = 0
        self.running = True


Worker = Callable[[Meter], Awaitable[None]]


async def per_second(workers: Iterable[Worker], seconds: float) -> float:
    """Let the workers run side by side and tell how much they did per second, once warm."""
    meter = Meter()
    tasks = [asyncio.ensure_future(worker(meter)) for worker in workers]
    await asyncio.sleep(WARM_UP_SECONDS)
    done_before, began = meter.done, time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (meter.done - done_before) / (time.perf_counter() - began)
    meter.running = False
    await asyncio.gather(*tasks)
    return rate
