"""Posts from many hands: 8 connections with 32 posts under way each, every one waiting for `sync`."""

from contextlib import AsyncExitStack

import willow_client

from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter, per_second
from benchmarks.raw import RawQueue, raw_connection
from benchmarks.scale import Scale
from benchmarks.stage import Stage
from delivery.statements import statement

NAME = "posts"
CONNECTIONS = 8
UNDER_WAY = 32  # on each connection
AT_LEAST = Bar(0.6)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    return [_measure(stage, scale, body_size) for body_size in scale.body_sizes]


def _measure(stage: Stage, scale: Scale, body_size: int) -> Figure:
    through_broker, raw, batches = [], [], []
    for _ in range(scale.runs):
        stage.clear()
        stage.execute("SELECT pg_stat_statements_reset()")
        through_broker.append(stage.load.run(post_to_broker, stage.broker.url, body_size, scale.seconds))
        batches.append(_mean_batch(stage))
        stage.clear()
        raw.append(stage.load.run(post_to_postgres, stage.database_url, body_size, round(batches[-1]), scale.seconds))
    return Figure(
        name=f"posts, {body_size} bytes",
        unit="/s",
        values=through_broker,
        limits=raw,
        bar=AT_LEAST,
        notes={"messages per batch": sum(batches) / len(batches)},
    )


def _mean_batch(stage: Stage) -> float:
    """How many messages the broker put into one statement."""
    ((mean,),) = stage.rows(
        "SELECT sum(rows) / sum(calls) FROM pg_stat_statements WHERE query LIKE '%%INSERT INTO delivery_message (%%'"
    )
    return float(mean)


async def post_to_broker(url: str, body_size: int, seconds: float) -> float:
    body = "x" * body_size

    async def post_again_and_again(client: willow_client.Client, meter: Meter) -> None:
        while meter.running:
            await client.post("posts", body)
            meter.done += 1

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(willow_client.connect(url)) for _ in range(CONNECTIONS)]
        workers = [
            lambda meter, client=client: post_again_and_again(client, meter)
            for client in clients
            for _ in range(UNDER_WAY)
        ]
        return await per_second(workers, seconds)


async def post_to_postgres(database_url: str, body_size: int, batch: int, seconds: float) -> float:
    """On one connection: the lock on the queue's row lets no two batches in at the same time."""
    async with raw_connection(database_url) as connection:
        ((queue_id,),) = await (await connection.execute("SELECT id FROM queues_queue WHERE name = 'posts'")).fetchall()
        columns = RawQueue(connection, queue_id).post_columns([b"x" * body_size] * batch)

        async def post_again_and_again(meter: Meter) -> None:
            while meter.running:
                cursor = await connection.execute(statement("post"), columns, binary=True)
                await cursor.fetchall()
                meter.done += batch

        return await per_second([post_again_and_again], seconds)
