"""From post to receive at 500 messages a second: one client posts at a steady pace, eight wait for messages."""

import asyncio
import time
from statistics import median, quantiles

from willow_client import Client

from benchmarks.clients import connected
from benchmarks.figures import Bar, Figure
from benchmarks.raw import raw_queues
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "latency"
QUEUE = "latency"
WORKERS = 8
MESSAGES_PER_SECOND = 500
BODY_SIZE = 100  # bytes
WARM_UP_MESSAGES = 250
ROUND_TRIPS = 300  # of single flushed posts, for the comparison
MEDIAN_AT_MOST = Bar(2.5, at_most=True)
SLOWEST_AT_MOST = Bar(5.0, at_most=True)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queue_id = stage.define(QUEUE)
    medians, slowest, round_trips = [], [], []
    for _ in range(scale.runs):
        stage.clear()
        waits = stage.on_broker(post_to_receive, scale.seconds)
        medians.append(median(waits))
        slowest.append(quantiles(waits, n=100)[98])
        stage.clear()
        round_trips.append(stage.on_postgres(flushed_insert, queue_id))
    return [
        Figure(
            name=f"post to receive at {MESSAGES_PER_SECOND}/s, p50 (limit: one flushed insert)",
            unit="ms",
            values=medians,
            limits=round_trips,
            bar=MEDIAN_AT_MOST,
        ),
        Figure(
            name=f"post to receive at {MESSAGES_PER_SECOND}/s, p99 (limit: p50)",
            unit="ms",
            values=slowest,
            limits=medians,
            bar=SLOWEST_AT_MOST,
        ),
    ]


async def post_to_receive(url: str, seconds: float) -> list[float]:
    """How long each message took from the call that posts it to the hands of a worker, in milliseconds."""
    waits: list[float] = []
    messages = WARM_UP_MESSAGES + round(MESSAGES_PER_SECOND * seconds)
    async with connected(url, 1 + WORKERS) as (poster, *workers):
        tasks = [asyncio.ensure_future(_receive(worker, waits, messages)) for worker in workers]
        await _post_steadily(poster, messages)
        await asyncio.gather(*tasks)
    return waits[WARM_UP_MESSAGES:]


async def _receive(worker: Client, waits: list[float], messages: int) -> None:
    while len(waits) < messages:
        message = await worker.fetch(QUEUE, block_timeout=0.5)
        if message is not None:
            waits.append((time.perf_counter() - float(message.text)) * 1000)
            await message.finish()


async def _post_steadily(poster: Client, messages: int) -> None:
    """At fixed times, whether or not earlier posts have been answered: a slow broker gets no mercy."""
    began = time.perf_counter()
    posts = []
    for number in range(messages):
        await asyncio.sleep(began + number / MESSAGES_PER_SECOND - time.perf_counter())
        body = f"{time.perf_counter():.9f}".ljust(BODY_SIZE)
        posts.append(asyncio.ensure_future(poster.post(QUEUE, body)))
    await asyncio.gather(*posts)


async def flushed_insert(database_url: str, queue_id: int) -> float:
    """The median time of a statement that stores one message on disk, in milliseconds."""
    times = []
    async with raw_queues(database_url, queue_id, 1) as (queue,):
        post = queue.prepare_post([b"x" * BODY_SIZE])
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            await queue.post(post)
            times.append((time.perf_counter() - began) * 1000)
    return median(times)
