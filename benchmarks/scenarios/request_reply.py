"""Request and reply: 8 frontends ask a service and wait for the answer, 8 workers answer at once."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median, quantiles

from websockets.asyncio.client import ClientConnection, connect
from willow_client import Client

from benchmarks.alternation import alternate
from benchmarks.clients import per_second_by_clients
from benchmarks.figures import Figure
from benchmarks.rates import Meter
from benchmarks.raw import RawQueue, per_second_on_postgres
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "request-reply"
SERVICE = "echo"
FRONTENDS = 8
WORKERS = 8
BODY = "x" * 100


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queue_id = stage.define(f"service:{SERVICE}")
    medians: list[float] = []
    slowest: list[float] = []

    def broker() -> float:
        stage.clear()
        rate, waits = stage.load.run(ask_and_answer, stage.broker.url, scale.seconds)
        medians.append(median(waits))
        slowest.append(quantiles(waits, n=100)[98])
        return rate

    def raw() -> float:
        stage.clear()
        return stage.load.run(pass_on_postgres, stage.database_url, queue_id, scale.seconds)

    rates, limits = alternate(scale.runs, broker, raw)
    name = f"request + reply, {FRONTENDS} frontends, {WORKERS} workers"
    return [
        Figure(name=f"{name} (limit: post + claim + finish)", unit="trips/s", values=rates, limits=limits),
        Figure(name=f"{name}, p50", unit="ms", values=medians),
        Figure(name=f"{name}, p99", unit="ms", values=slowest),
    ]


async def ask_and_answer(url: str, seconds: float) -> tuple[float, list[float]]:
    """Round trips per second, and how long each took in milliseconds."""
    waits: list[float] = []

    async def ask(frontend: Client, meter: Meter) -> None:
        while meter.running:
            began = time.perf_counter()
            await frontend.request(SERVICE, BODY)
            waits.append((time.perf_counter() - began) * 1000)
            meter.done += 1

    async with _workers(url):
        rate = await per_second_by_clients(url, FRONTENDS, ask, seconds)
    return rate, waits


@asynccontextmanager
async def _workers(url: str) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(_serve(url)) for _ in range(WORKERS)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(url: str) -> None:
    async with connect(url, compression=None) as socket:
        await socket.recv()  # hello
        check = {"type": "checkconfig", "config_type": "JSON", "identity": "bench", "services": [SERVICE]}
        await socket.send(json.dumps(check))
        version = json.loads(await socket.recv())["config_version"]
        await socket.send(json.dumps(_ready(version)))
        async for frame in socket:
            request = json.loads(frame)
            if request["type"] == "workrequest":
                await _answer(socket, request, version)


async def _answer(socket: ClientConnection, request: dict[str, str], version: str) -> None:
    """The reply and the next `ready` in one frame."""
    reply = {
        "type": "workreply",
        "work_request_identifier": request["work_request_identifier"],
        "body": request["body"],
        "time": time.time(),
        "config_version": version,
    }
    await socket.send(json.dumps([reply, _ready(version)]))


def _ready(version: str) -> dict[str, object]:
    return {
        "type": "ready",
        "services": [SERVICE],
        "heartbeat_interval": 60,
        "time": time.time(),
        "config_version": version,
    }


async def pass_on_postgres(database_url: str, queue_id: int, seconds: float) -> float:
    async def work(queue: RawQueue, meter: Meter) -> None:
        columns = queue.post_columns([BODY.encode()])
        while meter.running:
            await queue.post(columns)
            await queue.finish(await queue.claim(1))
            meter.done += 1

    return await per_second_on_postgres(database_url, queue_id, FRONTENDS, work, seconds)
