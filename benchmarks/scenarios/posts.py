"""Posts from many hands: 8 connections with 32 posts under way each, every one waiting for `sync`."""

import asyncio
from statistics import mean

from willow_client import Client

from benchmarks.clients import per_second_by_clients
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter
from benchmarks.raw import RawQueue, per_second_on_postgres
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "posts"
QUEUE = "posts"
CLIENTS = 8
UNDER_WAY = 32  # posts of each client
AT_LEAST = Bar(0.6)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    return [_measure(stage, scale, body_size) for body_size in scale.body_sizes]


def _measure(stage: Stage, scale: Scale, body_size: int) -> Figure:
    queue_id = stage.define(QUEUE)
    values, limits, batches = [], [], []
    for _ in range(scale.runs):
        stage.clear()
        stage.execute("SELECT pg_stat_statements_reset()")
        values.append(stage.on_broker(post_to_broker, body_size, scale.seconds))
        batches.append(_mean_batch(stage))
        stage.clear()
        limits.append(stage.on_postgres(post_to_postgres, queue_id, body_size, round(batches[-1]), scale.seconds))
    return Figure(
        name=f"posts, {CLIENTS} connections with {UNDER_WAY} under way, {body_size} bytes",
        unit="messages/s",
        values=values,
        limits=limits,
        bar=AT_LEAST,
        notes={"messages in a batch of the broker": mean(batches)},
    )


def _mean_batch(stage: Stage) -> float:
    """How many messages the broker put into one statement, as PostgreSQL counted them."""
    ((size,),) = stage.rows(
        "SELECT sum(rows) / sum(calls) FROM pg_stat_statements"
        " WHERE toplevel AND query LIKE '%%INSERT INTO delivery_message (%%'"
    )
    return float(size)


async def post_to_broker(url: str, body_size: int, seconds: float) -> float:
    body = "x" * body_size

    async def post_again_and_again(client: Client, meter: Meter) -> None:
        while meter.running:
            await client.post(QUEUE, body)
            meter.done += 1

    async def work(client: Client, meter: Meter) -> None:
        await asyncio.gather(*(post_again_and_again(client, meter) for _ in range(UNDER_WAY)))

    return await per_second_by_clients(url, CLIENTS, work, seconds)


async def post_to_postgres(database_url: str, queue_id: int, body_size: int, batch: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        post = queue.prepare_post([b"x" * body_size] * batch)
        while meter.running:
            await queue.post(post)
            meter.done += batch

    # One connection: the lock on the queue's row lets no two batches in at the same time.
    return await per_second_on_postgres(database_url, queue_id, 1, work, seconds)
