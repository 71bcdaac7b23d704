"""Workers that fetch one message, finish it and only then fetch the next: 8 clients against 8 connections."""

from contextlib import AsyncExitStack

import willow_client

from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter, per_second
from benchmarks.raw import RawQueue, raw_connection
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "one-by-one"
CLIENTS = 8
QUEUE = "one-by-one"
AT_LEAST = Bar(1.0)
ENOUGH_PER_SECOND = 12_000  # messages laid out, so that nobody runs dry


def run(stage: Stage, scale: Scale) -> list[Figure]:
    return [_measure(stage, scale, body_size) for body_size in scale.body_sizes]


def _measure(stage: Stage, scale: Scale, body_size: int) -> Figure:
    queue_id = stage.define(QUEUE)
    through_broker, raw = [], []
    for _ in range(scale.runs):
        stage.lay_out(queue_id, messages=round(ENOUGH_PER_SECOND * scale.seconds), body_size=body_size)
        through_broker.append(stage.load.run(take_from_broker, stage.broker.url, scale.seconds))
        stage.lay_out(queue_id, messages=round(ENOUGH_PER_SECOND * scale.seconds), body_size=body_size)
        raw.append(stage.load.run(take_from_postgres, stage.database_url, queue_id, scale.seconds))
    return Figure(
        name=f"fetch + finish one by one, {body_size} bytes",
        unit="/s",
        values=through_broker,
        limits=raw,
        bar=AT_LEAST,
    )


async def take_from_broker(url: str, seconds: float) -> float:
    async def work(client: willow_client.Client, meter: Meter) -> None:
        while meter.running and (message := await client.fetch(QUEUE)):
            await message.finish()
            meter.done += 1

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(willow_client.connect(url)) for _ in range(CLIENTS)]
        return await per_second([lambda meter, client=client: work(client, meter) for client in clients], seconds)


async def take_from_postgres(database_url: str, queue_id: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        while meter.running and (claimed := await queue.claim(1)):
            await queue.finish(claimed)
            meter.done += 1

    async with AsyncExitStack() as stack:
        queues = [
            RawQueue(
                await stack.enter_async_context(raw_connection(database_url, synchronous=False)),
                queue_id,
                holder=holder,
            )
            for holder in range(CLIENTS)
        ]
        return await per_second([lambda meter, queue=queue: work(queue, meter) for queue in queues], seconds)
