"""Queues with limits that are not reached, beside queues without; and a rate that is."""

import asyncio
import time

import willow_client

from benchmarks.alternation import alternate
from benchmarks.clients import connected, per_second_by_clients
from benchmarks.draining import drain
from benchmarks.figures import Bar, Figure
from benchmarks.rates import Meter
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "limits"
PLAIN, LIMITED, RATED = "no-limits", "limits", "rated"
CLIENTS = 8
ENOUGH_PER_SECOND = 8_000  # messages laid out, so that nobody runs dry
RATE = 200.0  # messages a second
RATE_SECONDS = 10.0
AT_LEAST = Bar(0.7)
WITHIN = Bar(0.05, at_most=True)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queues = stage.load.run(_define, stage.broker.url)
    return [
        _one_by_one(stage, scale, queues),
        _in_hundreds(stage, scale, queues),
        _rate(stage, queues[RATED]),
    ]


async def _define(url: str) -> dict[str, int]:
    async with willow_client.connect(url) as client:
        plain = await client.create(PLAIN)
        limited = await client.create(LIMITED, max_in_flight=100_000, rate=1_000_000)
        rated = await client.create(RATED, rate=RATE, burst=1)
        return {PLAIN: plain.shard, LIMITED: limited.shard, RATED: rated.shard}


def _one_by_one(stage: Stage, scale: Scale, queues: dict[str, int]) -> Figure:
    enough = round(ENOUGH_PER_SECOND * (scale.seconds + 1))

    def measure(queue: str) -> float:
        stage.lay_out(queues[queue], messages=enough, body_size=100)
        return stage.on_broker(_take, queue, scale.seconds)

    values, limits = alternate(scale.runs, lambda: measure(LIMITED), lambda: measure(PLAIN))
    name = f"fetch + finish one by one, {CLIENTS} clients, with limits : without"
    return Figure(name=name, unit="messages/s", values=values, limits=limits, bar=AT_LEAST)


async def _take(url: str, queue: str, seconds: float) -> float:
    async def work(client: willow_client.Client, meter: Meter) -> None:
        while meter.running and (message := await client.fetch(queue)):
            await message.finish()
            meter.done += 1

    return await per_second_by_clients(url, CLIENTS, work, seconds)


def _in_hundreds(stage: Stage, scale: Scale, queues: dict[str, int]) -> Figure:
    def measure(queue: str) -> float:
        stage.lay_out(queues[queue], messages=scale.short_backlog, body_size=100)
        return stage.on_broker(drain, queue, scale.short_backlog)

    values, limits = alternate(scale.runs, lambda: measure(LIMITED), lambda: measure(PLAIN))
    name = "fetch + finish in groups of 100, 8 clients, with limits : without"
    return Figure(name=name, unit="messages/s", values=values, limits=limits, bar=AT_LEAST)


def _rate(stage: Stage, queue_id: int) -> Figure:
    stage.lay_out(queue_id, messages=round(RATE * RATE_SECONDS * 2), body_size=100)
    measured = stage.on_broker(_taken_per_second, RATED, RATE_SECONDS)
    return Figure(
        name=f"distance from a rate of {RATE:g}/s and a burst of 1, over {RATE_SECONDS:g} s",
        unit="of the rate",
        values=[abs(measured / RATE - 1)],
        limits=[1.0],
        bar=WITHIN,
        notes={"messages/s": measured},
    )


async def _taken_per_second(url: str, queue: str, seconds: float) -> float:
    """By subscriptions, which wait for the next message all the time. The first second is not counted."""
    times: list[float] = []

    async def work(client: willow_client.Client) -> None:
        async with client.subscribe(queue, in_flight=50) as messages:
            async for message in messages:
                times.append(time.perf_counter())
                await message.finish()

    async with connected(url, CLIENTS) as clients:
        tasks = [asyncio.ensure_future(work(client)) for client in clients]
        await asyncio.sleep(seconds + 2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    began = times[0] + 1
    return sum(began <= moment < began + seconds for moment in times) / seconds
