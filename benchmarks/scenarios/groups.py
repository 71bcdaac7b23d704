"""Everything at once, in groups of 100: clients post a group, fetch a group and finish it, over and over."""

import asyncio
from contextlib import AsyncExitStack

import willow_client

from benchmarks.alternation import alternate
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter, per_second
from benchmarks.raw import RawQueue, raw_connection
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
        return stage.load.run(cycle_on_broker, stage.broker.url, body_size, scale.seconds)

    def raw() -> float:
        stage.clear()
        return stage.load.run(cycle_on_postgres, stage.database_url, queue_id, body_size, scale.seconds)

    values, limits = alternate(scale.runs, broker, raw)
    return Figure(
        name=f"post + fetch + finish in groups of {GROUP}, {body_size} bytes",
        unit="/s",
        values=values,
        limits=limits,
        bar=AT_LEAST,
    )


async def cycle_on_broker(url: str, body_size: int, seconds: float) -> float:
    body = "x" * body_size

    async def work(client: willow_client.Client, meter: Meter) -> None:
        while meter.running:
            await asyncio.gather(*(client.post(QUEUE, body) for _ in range(GROUP)))
            messages = await client.fetch_many(QUEUE, GROUP)
            await asyncio.gather(*(message.finish() for message in messages))
            meter.done += len(messages)

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(willow_client.connect(url)) for _ in range(CLIENTS)]
        workers = [lambda meter, client=client: work(client, meter) for client in clients]
        return await per_second(workers, seconds)


async def cycle_on_postgres(database_url: str, queue_id: int, body_size: int, seconds: float, connections=1) -> float:
    bodies = [b"x" * body_size] * GROUP

    async def work(posting: RawQueue, taking: RawQueue, meter: Meter) -> None:
        while meter.running:
            await posting.post(bodies)
            claimed = await taking.claim(GROUP)
            await taking.finish(claimed)
            meter.done += len(claimed)

    async with AsyncExitStack() as stack:
        workers = []
        for holder in range(connections):
            posting = await stack.enter_async_context(raw_connection(database_url))
            taking = await stack.enter_async_context(raw_connection(database_url, synchronous=False))
            pair = RawQueue(posting, queue_id), RawQueue(taking, queue_id, holder=holder)
            workers.append(lambda meter, pair=pair: work(*pair, meter))
        return await per_second(workers, seconds)
