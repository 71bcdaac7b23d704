"""A small business on Willow: programs that post, work, fail, listen and serve, so that there is something to see."""

import asyncio
import itertools
import json
import random
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

from tests.browser.programs import running_programs
from tests.support.client import Client, claim, connected
from tests.support.workers import Worker, begin_request, working

ERRORS = (
    "card declined: issuer 4021 answered in 812 ms",
    "connection to payments:8443 timed out after 5.0 s",
    "KeyError: 'vat_id' in order 77213",
)
REGIONS = ("eu", "us")


class Business:
    """Its programs run until it closes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connections = AsyncExitStack()
        self._chance = random.Random(7)  # the same business each time
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        await self._prepare()
        for region in REGIONS:
            self._begin(self._post("orders", lambda n: {"order": n, "total": n % 90 + 9.5}, 0.04, tags=[region]))
        self._begin(self._post("events", lambda n: {"seen": "page", "visitor": n % 500}, 0.05))
        self._begin(self._post("emails", lambda n: {"to": f"customer-{n}@example.org"}, 0.5))
        for name in ("billing", "shipping"):
            self._begin(self._work(name, "orders"))
        self._begin(self._listen("warehouse", "events"))
        for number in range(3):
            self._begin(self._serve(f"resizer-{number}"))
        self._begin(self._request("resize"))

    async def close(self) -> None:
        """A program that has ended by itself has met something that it should not have."""
        ended = [task for task in self._tasks if task.done()]
        await _cancel(self._tasks)
        await self._connections.aclose()
        await _cancel(asyncio.all_tasks() - {asyncio.current_task()})  # what they waited for
        for task in ended:
            task.result()

    async def _prepare(self) -> None:
        client = await self._connect()
        await client.create("events", kind="stream", retention_count=5000)
        await client.create("imports", max_length=60, retry_limit=5, heartbeat_timeout=30)
        for region in REGIONS:
            await client.create("orders", tags=[region], retry_delay=0.2)
        await client.post_all("imports", [json.dumps({"file": f"prices-{n}.csv"}) for n in range(57)])
        await client.post_all("reports", [json.dumps({"month": n}) for n in range(1, 13)], delay=3600)
        await client.post_all("invoices", ["{}"] * 40)

    async def _connect(self) -> Client:
        return await self._connections.enter_async_context(connected(self._url))

    def _begin(self, program: Any) -> None:
        self._tasks.append(asyncio.create_task(program))

    async def _post(self, queue: str, body: Any, pause: float, **fields: Any) -> None:
        client = await self._connect()
        for number in itertools.count(1):
            await client.post(queue, json.dumps(body(number)), **fields)
            await asyncio.sleep(pause * self._chance.uniform(0.3, 1.7))

    async def _work(self, name: str, queue: str) -> None:
        """Most of it well; what fails, fails until it is dead."""
        client = await self._connect()
        await client.register(name)
        label = await client.subscribe(queue, tags=list(REGIONS), match="combined", in_flight=4)
        while True:
            message = await client.next(label)
            await asyncio.sleep(self._chance.uniform(0.005, 0.03))
            number = json.loads(message["body"])["order"]
            if number % 40 == 0:
                await client.send({"type": "fail", **claim(message), "error": ERRORS[number // 40 % len(ERRORS)]})
            else:
                await client.send({"type": "finish", **claim(message)})

    async def _listen(self, name: str, queue: str) -> None:
        client = await self._connect()
        await client.register(name)
        label = await client.subscribe(queue, in_flight=50)
        while True:
            message = await client.next(label)
            await client.send({"type": "finish", **claim(message)})

    async def _serve(self, identity: str) -> None:
        worker: Worker = await working(await self._connect(), "resize", identity=identity)
        while True:
            request = await worker.request()
            await asyncio.sleep(self._chance.uniform(0.01, 0.06))
            await worker.reply(request, "done")
            await worker.ready()

    async def _request(self, service: str) -> None:
        frontend = await self._connect()
        while True:
            label = await begin_request(frontend, service, "picture")
            await frontend.next(label)
            await asyncio.sleep(0.1)


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def running_business(url: str) -> Iterator[Business]:
    with running_programs(url) as programs:
        business = Business(url)
        programs.run(business.open())
        try:
            yield business
        finally:
            programs.run(business.close())
