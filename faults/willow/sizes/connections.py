"""10,000 connections that say nothing, and 1,000 that work."""

import asyncio
import resource
import time
from collections.abc import Iterator

from faults.willow.cluster import FaultyCluster
from faults.willow.load.queues import LoadQueue
from faults.willow.sizes import Extent
from faults.willow.sizes.caller import Caller, call
from faults.willow.sizes.figures import Row, megabytes, spread, usage

IDLE, BUSY = 10_000, 1_000
AT_ONCE = 50  # connections that are being opened
PAUSE_SECONDS = 1.0  # of a busy client after each message
BUSY_SECONDS = 60.0
QUEUE = "busy"


def connections(cluster: FaultyCluster, extent: Extent) -> Iterator[Row]:
    """Each busy client posts a message, fetches one and finishes it, about once a second."""
    allow_descriptors()
    cluster.make_queues([LoadQueue(QUEUE)])
    yield from asyncio.run(_measure(cluster, round(IDLE * extent.scale), round(BUSY * extent.scale)))


def allow_descriptors() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _measure(cluster: FaultyCluster, idle: int, busy: int) -> list[Row]:
    before = usage(cluster)
    began = time.monotonic()
    silent = await _open(cluster, idle)
    opened = time.monotonic() - began
    after = usage(cluster)
    workers = await _open(cluster, busy)
    deadline = time.monotonic() + BUSY_SECONDS
    seconds: list[float] = []
    await asyncio.gather(*(_work(worker, deadline, seconds) for worker in workers))
    still_open = sum(caller.is_open for caller in silent)
    for caller in (*silent, *workers):
        await caller.close()
    return [
        ("idle connections opened", f"{len(silent):,} in {opened:.0f} s"),
        ("memory of the brokers for each of them", f"{(after.brokers - before.brokers) / 1000 / max(idle, 1):.1f} kB"),
        ("memory of three brokers with them", megabytes(after.brokers)),
        ("busy connections beside them", f"{len(workers):,}"),
        ("messages posted, fetched and finished", f"{len(seconds) / BUSY_SECONDS:,.0f} a second"),
        ("a post until its `sync`", spread(seconds)),
        ("idle connections still open afterwards", f"{still_open:,}"),
    ]


async def _open(cluster: FaultyCluster, number: int) -> list[Caller]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def open_one(which: int) -> Caller:
        async with gate:
            return await call(cluster.nodes[which % len(cluster.nodes)].url)

    return list(await asyncio.gather(*(open_one(which) for which in range(number))))


async def _work(caller: Caller, deadline: float, seconds: list[float]) -> None:
    while time.monotonic() < deadline:
        asked = time.monotonic()
        await caller.ask("post", queue=QUEUE, message="m", notify=["sync"])
        seconds.append(time.monotonic() - asked)
        message = await caller.ask("fetch", queue=QUEUE, block_timeout=30)
        if message["type"] == "message":
            claim = {name: message[name] for name in ("queue", "shard", "sequence", "index", "attempt")}
            await caller.ask("finish", response="write", **claim)
        await asyncio.sleep(PAUSE_SECONDS)
