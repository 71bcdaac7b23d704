"""From post to receive at a steady 500 messages a second, and how much of the processor that takes."""

import asyncio
import time
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.peers.connection import Connection
from benchmarks.peers.usage import Usage
from benchmarks.peers.workload import BODY_SIZE, CLIENTS, PATIENCE, connected

MESSAGES_PER_SECOND = 500
WARM_UP_MESSAGES = 250
GRACE_SECONDS = 60  # for what is still on its way


@dataclass(frozen=True)
class Pace:
    """Milliseconds from post to receive, and cores in use."""

    p50: float
    p99: float
    server_cores: float
    client_cores: float

    @classmethod
    def of(cls, waits: list[float], used: Usage) -> "Pace":
        """What all these messages used, as if none had been late."""
        seconds = len(waits) / MESSAGES_PER_SECOND
        return cls(median(waits), quantiles(waits, n=100)[98], used.server / seconds, used.clients / seconds)


async def steadily(peer_name: str, address: str, seconds: float) -> Pace:
    """Messages carry when they were posted; eight clients wait for them."""
    waits: list[float] = []
    messages = WARM_UP_MESSAGES + round(MESSAGES_PER_SECOND * seconds)

    async def receive(connection: Connection) -> None:
        while len(waits) < messages:
            for message in (taken := await connection.take(1, PATIENCE)):
                waits.append((time.time() - float(message.body)) * 1000)
            if taken:
                await connection.finish(taken)

    async with connected(peer_name, address, 1 + CLIENTS) as (poster, *receivers):
        tasks = [asyncio.ensure_future(receive(receiver)) for receiver in receivers]
        used_when_warm = await post_steadily(poster, messages)
        await asyncio.wait_for(asyncio.gather(*tasks), GRACE_SECONDS)
        used = Usage.so_far() - used_when_warm
    return Pace.of(waits[WARM_UP_MESSAGES:], used)


async def post_steadily(poster: Connection, messages: int) -> Usage:
    """At fixed times, whether or not earlier posts were answered; returns what had been used after the warm-up."""
    began = time.perf_counter()
    posts = []
    used_when_warm = Usage(0, 0)
    for number in range(messages):
        await asyncio.sleep(began + number / MESSAGES_PER_SECOND - time.perf_counter())
        if number == WARM_UP_MESSAGES:
            used_when_warm = Usage.so_far()
        body = f"{time.time():.9f}".ljust(BODY_SIZE).encode()
        posts.append(asyncio.ensure_future(poster.post([body])))
    await asyncio.gather(*posts)
    return used_when_warm
