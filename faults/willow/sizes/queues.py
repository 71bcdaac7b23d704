"""10,000 queues with 1,000 messages each."""

import asyncio
import random
import time
from collections.abc import Iterator

from faults.willow.cluster import FaultyCluster, wait_for
from faults.willow.load.queues import LoadQueue
from faults.willow.sizes import Extent
from faults.willow.sizes.caller import Caller, call
from faults.willow.sizes.figures import Row, megabytes, spread, usage

QUEUES, MESSAGES = 10_000, 1_000
FRAME = 500  # posts
CALLERS = 6
LOOKS = 1_000  # queues that are fetched from


def many_queues(cluster: FaultyCluster, extent: Extent) -> Iterator[Row]:
    names = [f"queue-{number:05}" for number in range(round(QUEUES * extent.scale))]
    empty = usage(cluster)
    cluster.make_queues(LoadQueue(name, keep_bodies=False) for name in names)
    posted = asyncio.run(_post(cluster, names))
    (stored,) = cluster.query("SELECT count(*) FROM delivery_message")[0]
    full = usage(cluster)
    yield "queues and messages in them", f"{len(names):,} and {stored:,}"
    yield "posted and written", f"{len(names) * MESSAGES / posted:,.0f} messages a second"
    yield "tables and their indexes, without the journal", f"{megabytes(full.tables)} and {megabytes(full.indexes)}"
    yield "memory of three brokers, before and after", f"{megabytes(empty.brokers)} and {megabytes(full.brokers)}"
    yield "fetch of one message, queues at random", spread(asyncio.run(_fetch(cluster, names)))
    node = cluster.nodes[0]
    node.stop()
    began = time.monotonic()
    node.start()
    wait_for([node])
    yield "start of a broker", f"{time.monotonic() - began:.1f} s"


async def _post(cluster: FaultyCluster, names: list[str]) -> float:
    callers = [await call(cluster.nodes[number % len(cluster.nodes)].url) for number in range(CALLERS)]
    left = iter(names)
    began = time.monotonic()
    await asyncio.gather(*(_fill(caller, left) for caller in callers))
    return time.monotonic() - began


async def _fill(caller: Caller, names: Iterator[str]) -> None:
    for name in names:
        for _ in range(0, MESSAGES, FRAME):
            posts: list[dict[str, object]] = [{"type": "post", "queue": name, "message": "m"} for _ in range(FRAME)]
            posts[-1]["notify"] = ["write"]
            await caller.ask_last(posts)
    await caller.close()


async def _fetch(cluster: FaultyCluster, names: list[str]) -> list[float]:
    caller = await call(cluster.nodes[0].url)
    seconds = []
    for name in random.choices(names, k=LOOKS):
        asked = time.monotonic()
        frame = await caller.ask("fetch", queue=name)
        if frame["type"] != "message":
            raise RuntimeError(f"{name} should have a message, and has {frame}")
        seconds.append(time.monotonic() - asked)
    await caller.close()
    return seconds
