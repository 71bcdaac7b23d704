"""One stream, a hundred subscribers: how many messages a second reach their readers."""

import asyncio
import time
import uuid

from willow_client import Client

from benchmarks.clients import connected
from benchmarks.figures import Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "fan-out"
QUEUE = "fan-out"
SUBSCRIBERS = 100
MESSAGES_PER_SECOND_OF_SCALE = 100  # posted, so a hundred times as many are delivered
IN_FLIGHT = 64
BODY = "x" * 100


def run(stage: Stage, scale: Scale) -> list[Figure]:
    messages = round(MESSAGES_PER_SECOND_OF_SCALE * scale.seconds)
    rates = []
    for _ in range(scale.runs):
        stage.clear()
        rates.append(stage.on_broker(deliver_to_all, messages))
    name = f"one stream to {SUBSCRIBERS} subscribers, {len(BODY)} bytes"
    return [Figure(name=name, unit="deliveries/s", values=rates)]


async def deliver_to_all(url: str, messages: int) -> float:
    stream = f"{QUEUE}-{uuid.uuid4().hex}"  # positions of an earlier run must not matter
    async with connected(url, 1 + SUBSCRIBERS) as (poster, *readers):
        await poster.create(stream, kind="stream")
        for number, reader in enumerate(readers):
            await reader.register(f"{stream}-{number}", persistent=False)
        started = asyncio.Event()
        reading = [asyncio.ensure_future(_read(reader, stream, messages, started)) for reader in readers]
        await started.wait()
        began = time.perf_counter()
        await asyncio.gather(*(poster.post(stream, BODY) for _ in range(messages)))
        await asyncio.gather(*reading)
        return SUBSCRIBERS * messages / (time.perf_counter() - began)


async def _read(reader: Client, stream: str, messages: int, started: asyncio.Event) -> None:
    async with reader.subscribe(stream, in_flight=IN_FLIGHT, start="oldest") as subscription:
        started.set()
        for _ in range(messages):
            message = await anext(subscription)
            await message.finish(wait=None)
