"""Workers that fetch one message, finish it and only then fetch the next: 8 clients against 8 connections."""

from willow_client import Client

from benchmarks.alternation import alternate
from benchmarks.clients import per_second_by_clients
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter
from benchmarks.raw import RawQueue, per_second_on_postgres
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "one-by-one"
QUEUE = "one-by-one"
CLIENTS = 8
AT_LEAST = Bar(1.0)
ENOUGH_PER_SECOND = 8_000  # messages laid out, so that nobody runs dry


def run(stage: Stage, scale: Scale) -> list[Figure]:
    return [_measure(stage, scale, body_size) for body_size in scale.body_sizes]


def _measure(stage: Stage, scale: Scale, body_size: int) -> Figure:
    queue_id = stage.define(QUEUE)
    enough = round(ENOUGH_PER_SECOND * (scale.seconds + 1))

    def broker() -> float:
        stage.lay_out(queue_id, messages=enough, body_size=body_size)
        return stage.on_broker(take_from_broker, scale.seconds)

    def raw() -> float:
        stage.lay_out(queue_id, messages=enough, body_size=body_size)
        return stage.on_postgres(take_from_postgres, queue_id, scale.seconds)

    values, limits = alternate(scale.runs, broker, raw)
    return Figure(
        name=f"fetch + finish one by one, {CLIENTS} clients, {body_size} bytes",
        unit="messages/s",
        values=values,
        limits=limits,
        bar=AT_LEAST,
    )


async def take_from_broker(url: str, seconds: float) -> float:
    async def work(client: Client, meter: Meter) -> None:
        while meter.running and (message := await client.fetch(QUEUE)):
            await message.finish()
            meter.done += 1

    return await per_second_by_clients(url, CLIENTS, work, seconds)


async def take_from_postgres(database_url: str, queue_id: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        while meter.running and (claimed := await queue.claim(1)):
            await queue.finish(claimed)
            meter.done += 1

    return await per_second_on_postgres(database_url, queue_id, CLIENTS, work, seconds)
