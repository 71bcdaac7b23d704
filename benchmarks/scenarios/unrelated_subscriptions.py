"""What one post costs while others subscribe to other queues: the same with ten subscriptions as with ten thousand."""

import asyncio
import time
import uuid
from statistics import median

from willow_client import Client

from benchmarks.clients import connected
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "unrelated-subscriptions"
FEW, MANY = 10, 10_000
CLIENTS = 10
POSTS = 200
FLAT = Bar(1.5, at_most=True)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    few, many = [], []
    for _ in range(scale.runs):
        stage.clear()
        few.append(stage.on_broker(post_beside_subscriptions, FEW))
        many.append(stage.on_broker(post_beside_subscriptions, MANY))
    name = f"one post beside {MANY:,} unrelated subscriptions (limit: beside {FEW})"
    return [Figure(name=name, unit="ms", values=many, limits=few, bar=FLAT)]


async def post_beside_subscriptions(url: str, subscriptions: int) -> float:
    """The median time of a flushed post, in milliseconds."""
    name = uuid.uuid4().hex
    async with connected(url, 1 + CLIENTS) as (poster, *readers):
        await asyncio.gather(
            *(_subscribe(reader, f"{name}-{place}", subscriptions // CLIENTS) for place, reader in enumerate(readers))
        )
        times = []
        for _ in range(POSTS):
            began = time.perf_counter()
            await poster.post(name, "x" * 100)
            times.append((time.perf_counter() - began) * 1000)
    return median(times)


async def _subscribe(reader: Client, queue: str, times: int) -> None:
    """Each asks for another tag: a connection has only one subscription of a kind."""
    for number in range(times):
        subscription = reader.subscribe(queue, tags=[f"tag-{number}"], match="strict")
        await subscription.__aenter__()  # they end with the connection
