"""1,000 bodies of 1 MB that wait, and are fetched."""

import asyncio
import hashlib
import random
import time
from collections.abc import Iterator

from faults.willow.cluster import FaultyCluster
from faults.willow.load.queues import LoadQueue
from faults.willow.sizes import Extent
from faults.willow.sizes.caller import Caller, call
from faults.willow.sizes.figures import Row, megabytes, usage

BODIES, SIZE = 1_000, 1_000_000
QUEUE = "large"


def large_bodies(cluster: FaultyCluster, extent: Extent) -> Iterator[Row]:
    cluster.make_queues([LoadQueue(QUEUE, keep_bodies=False)])
    number = round(BODIES * extent.scale)
    before = usage(cluster)
    digests, seconds = asyncio.run(_post(cluster, number))
    waiting = usage(cluster)
    yield "bodies of 1 MB posted and on disk", f"{number:,} in {seconds:.0f} s"
    yield "memory of three brokers, before", megabytes(before.brokers)
    yield "memory of three brokers, while they wait", megabytes(waiting.brokers)
    fetched, seconds = asyncio.run(_fetch(cluster, number))
    yield "fetched and finished", f"{len(fetched):,} in {seconds:.0f} s"
    yield "of these, changed or lost on the way", f"{len(set(digests) ^ set(fetched)):,}"
    yield "memory of three brokers, afterwards", megabytes(usage(cluster).brokers)


async def _post(cluster: FaultyCluster, number: int) -> tuple[list[str], float]:
    caller, digests, began = await call(cluster.nodes[0].url), [], time.monotonic()
    for _ in range(number):
        body = random.randbytes(SIZE // 2).hex()
        digests.append(_digest(body))
        await caller.ask("post", queue=QUEUE, message=body, notify=["sync"])
    await caller.close()
    return digests, time.monotonic() - began


async def _fetch(cluster: FaultyCluster, number: int) -> tuple[list[str], float]:
    """Over another node than the one that took them."""
    caller, digests, began = await call(cluster.nodes[1].url), [], time.monotonic()
    for _ in range(number):
        digests.append(await _take(caller))
    await caller.close()
    return digests, time.monotonic() - began


async def _take(caller: Caller) -> str:
    message = await caller.ask("fetch", queue=QUEUE, block_timeout=30)
    if message["type"] != "message":
        return "nothing came"
    claim = {name: message[name] for name in ("queue", "shard", "sequence", "index", "attempt")}
    await caller.ask("finish", response="write", **claim)
    return _digest(message["body"])


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
