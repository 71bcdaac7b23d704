"""A thousand subscriptions by tags over two hundred queues: from post to receive at 500 messages a second."""

import asyncio
import time
import uuid
from statistics import median, quantiles

from willow_client import Client

from benchmarks.clients import connected
from benchmarks.figures import Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "tag-subscriptions"
CLIENTS = 50
SUBSCRIPTIONS_OF_EACH = 20
QUEUES = 200
MESSAGES_PER_SECOND = 500


def run(stage: Stage, scale: Scale) -> list[Figure]:
    medians, slowest = [], []
    for _ in range(scale.runs):
        stage.clear()
        waits = stage.on_broker(post_to_receive, round(MESSAGES_PER_SECOND * scale.seconds))
        medians.append(median(waits))
        slowest.append(quantiles(waits, n=100)[98])
    subscriptions = CLIENTS * SUBSCRIPTIONS_OF_EACH
    what = f"{subscriptions:,} tag subscriptions, {QUEUES} queues, post to receive at {MESSAGES_PER_SECOND}/s"
    return [
        Figure(name=f"{what}, p50", unit="ms", values=medians),
        Figure(name=f"{what}, p99", unit="ms", values=slowest),
    ]


async def post_to_receive(url: str, messages: int) -> list[float]:
    """How long each message took from the call that posts it to the hands of a subscriber, in milliseconds."""
    name = f"tags-{uuid.uuid4().hex}"
    waits: list[float] = []
    async with connected(url, 1 + CLIENTS) as (poster, *readers):
        for number in range(QUEUES):
            await poster.create(name, tags=_tags(number))
        reading = [
            asyncio.ensure_future(_read(reader, name, f"group-{place % QUEUES}", waits))
            for reader_number, reader in enumerate(readers)
            for place in range(reader_number * SUBSCRIPTIONS_OF_EACH, (reader_number + 1) * SUBSCRIPTIONS_OF_EACH)
        ]
        await asyncio.gather(*(_post_at(poster, name, number) for number in range(messages)))
        while len(waits) < messages:
            await asyncio.sleep(0.01)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    return waits


def _tags(number: int) -> list[str]:
    """Each queue has a tag of its own and one that it shares with its neighbours."""
    return [f"group-{number}", f"region-{number // 10}"]


async def _read(reader: Client, name: str, tag: str, waits: list[float]) -> None:
    async for message in reader.subscribe(name, tags=[tag], match="strict"):
        waits.append((time.perf_counter() - float(message.text)) * 1000)
        await message.finish(wait=None)


async def _post_at(poster: Client, name: str, number: int) -> None:
    await asyncio.sleep(number / MESSAGES_PER_SECOND)
    await poster.post(name, f"{time.perf_counter():.9f}", tags=_tags(number % QUEUES))
