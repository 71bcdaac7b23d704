"""Everything at once, in groups of 100: each client posts a group, fetches a group and finishes it, over and over."""

import asyncio

from willow_client import Client

from benchmarks.alternation import alternate
from benchmarks.clients import per_second_by_clients
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter
from benchmarks.raw import RawQueue, per_second_on_postgres
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "groups"
QUEUE = "groups"
CLIENTS = 8
GROUP = 100  # messages
AT_LEAST = Bar(0.5)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    return [_measure(stage, scale, body_size) for body_size in scale.body_sizes]


def _measure(stage: Stage, scale: Scale, body_size: int) -> Figure:
    queue_id = stage.define(QUEUE)

    def broker() -> float:
        stage.clear()
        return stage.on_broker(cycle_on_broker, body_size, scale.seconds)

    def raw() -> float:
        stage.clear()
        return stage.on_postgres(cycle_on_postgres, queue_id, body_size, scale.seconds)

    values, limits = alternate(scale.runs, broker, raw)
    return Figure(
        name=f"post + fetch + finish in groups of {GROUP}, {CLIENTS} clients, {body_size} bytes",
        unit="messages/s",
        values=values,
        limits=limits,
        bar=AT_LEAST,
    )


async def cycle_on_broker(url: str, body_size: int, seconds: float) -> float:
    body = "x" * body_size

    async def work(client: Client, meter: Meter) -> None:
        while meter.running:
            await asyncio.gather(*(client.post(QUEUE, body) for _ in range(GROUP)))
            messages = await client.fetch_many(QUEUE, GROUP)
            await asyncio.gather(*(message.finish() for message in messages))
            meter.done += len(messages)

    return await per_second_by_clients(url, CLIENTS, work, seconds)


async def cycle_on_postgres(database_url: str, queue_id: int, body_size: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        post = queue.prepare_post([b"x" * body_size] * GROUP)
        while meter.running:
            await queue.post(post)
            claimed = await queue.claim(GROUP)
            await queue.finish(claimed)
            meter.done += len(claimed)

    return await per_second_on_postgres(database_url, queue_id, CLIENTS, work, seconds)
