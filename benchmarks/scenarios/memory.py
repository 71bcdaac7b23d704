"""Whether the broker's memory stays the same while a million messages go through it."""

import asyncio

from willow_client import Client

from benchmarks.broker_process import memory_bytes
from benchmarks.clients import connected
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "memory"
QUEUE = "memory"
CLIENTS = 8
GROUP = 100  # messages
BODY_SIZE = 100  # bytes
STEPS = 5  # after each of which the memory is looked at; the first one warms up
AT_MOST = Bar(1.1, at_most=True)
MEBIBYTE = 1024 * 1024  # bytes


def run(stage: Stage, scale: Scale) -> list[Figure]:
    stage.clear()
    looks = []
    for _ in range(STEPS):
        stage.on_broker(cycle, scale.lifetime // STEPS)
        looks.append(memory_bytes(stage.broker.pid) / MEBIBYTE)
    name = f"memory after {scale.lifetime:,} messages (limit: after {scale.lifetime // STEPS:,})"
    return [Figure(name=name, unit="MiB", values=[looks[-1]], limits=[looks[0]], bar=AT_MOST)]


async def cycle(url: str, messages: int) -> None:
    """Post, fetch and finish that many messages."""
    rounds = messages // (CLIENTS * GROUP)

    async def work(client: Client) -> None:
        for _ in range(rounds):
            await asyncio.gather(*(client.post(QUEUE, "x" * BODY_SIZE) for _ in range(GROUP)))
            taken = await client.fetch_many(QUEUE, GROUP)
            await asyncio.gather(*(message.finish() for message in taken))

    async with connected(url, CLIENTS) as clients:
        await asyncio.gather(*(work(client) for client in clients))
