"""The program that drives a broker's ASGI application in its own process, without a socket in between.

It is run with the folder of a version of Willow as its working directory and imports nothing but that version's
application. Orders come as lines of JSON on standard input, each is answered by a line on standard output:
{"order": "post", "connection": …, "queue": …, "count": …, "group": …, …}. `group` messages go in one frame, so the
broker has them in one batch; the next frame follows when all of them are answered.
"""

import asyncio
import importlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvloop

Fields = dict[str, Any]


class BrokerError(Exception):
    """The broker refused something that a benchmark asked for."""


class Connection:
    """One client, as the application sees it: events in, frames out."""

    def __init__(self, application: Any) -> None:
        self._events: asyncio.Queue[Fields] = asyncio.Queue()
        self._frames: asyncio.Queue[Fields] = asyncio.Queue()
        self._labels = itertools.count(1)
        self._bodies = itertools.count(1)
        self._claimed: list[Fields] = []
        scope = {
            "type": "websocket",
            "path": "/connect/",
            "query_string": b"batch=true",
            "headers": [(b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
            "subprotocols": [],
        }
        self._events.put_nowait({"type": "websocket.connect"})
        self._task = asyncio.create_task(application(scope, self._events.get, self._take))

    async def _take(self, event: Fields) -> None:
        if event["type"] == "websocket.close":
            raise BrokerError(f"The broker closed the connection: {event}")
        if event["type"] == "websocket.send":
            content = json.loads(event["text"])
            for frame in content if isinstance(content, list) else [content]:
                self._frames.put_nowait(frame)

    async def frame(self, *wanted: str) -> Fields:
        """The next frame, which must be of one of these types."""
        frame = await self._frames.get()
        if frame["type"] not in wanted:
            raise BrokerError(f"The broker answered {frame}")
        return frame

    def _send(self, commands: list[Fields]) -> None:
        text = json.dumps(commands[0] if len(commands) == 1 else commands)
        self._events.put_nowait({"type": "websocket.receive", "text": text})

    async def _send_and_await(self, commands: list[Fields], answer: str) -> None:
        self._send([{**command, "label": next(self._labels)} for command in commands])
        for _ in commands:
            await self.frame(answer)

    async def create(self, order: Fields) -> None:
        await self._send_and_await([{"type": "create", "queue": order["queue"], **order["fields"]}], "queue")

    async def post(self, order: Fields) -> None:
        """`fields` are more of each post; those in `unique` get a text of their own in each."""
        command = {"type": "post", "queue": order["queue"], "message": "x" * order["body_bytes"], "notify": ["sync"]}
        command |= order["fields"]
        for size in _groups(order):
            commands = [dict(command) for _ in range(size)]
            for one in commands:
                one.update({name: f"{name} {next(self._bodies)}" for name in order["unique"]})
            await self._send_and_await(commands, "notice")

    async def fetch(self, order: Fields) -> None:
        """What was fetched is kept until the next order that ends claims."""
        self._claimed += await self._read("fetch", order)

    async def pop(self, order: Fields) -> None:
        await self._read("pop", order)

    async def _read(self, kind: str, order: Fields) -> list[Fields]:
        taken = []
        for size in _groups(order):
            self._send([{"type": kind, "queue": order["queue"], "count": size, "label": next(self._labels)}])
            taken += [await self.frame("message") for _ in range(size)]
        return taken

    async def finish(self, order: Fields) -> None:
        await self._end("finish", order)

    async def fail(self, order: Fields) -> None:
        await self._end("fail", order)

    async def keepalive(self, order: Fields) -> None:
        await self._each_claim("keepalive", {}, order)

    async def _end(self, kind: str, order: Fields) -> None:
        await self._each_claim(kind, {"response": "write", **order["fields"]}, order)
        del self._claimed[: order["count"]]

    async def _each_claim(self, kind: str, fields: Fields, order: Fields) -> None:
        claims = iter(self._claimed)
        for size in _groups(order):
            commands = [_about(claim, kind) | fields for claim in itertools.islice(claims, size)]
            await self._send_and_await(commands, "notice")

    def let_go(self, order: Fields) -> None:
        """Claims that stay as they are: nothing will be asked about them."""
        self._claimed.clear()

    async def subscribe(self, order: Fields) -> None:
        """To queues that nobody ever makes: each subscription asks for another tag."""
        for size in _groups(order):
            tags = [[f"tag-{next(self._bodies)}"] for _ in range(size)]
            commands = [{"type": "subscribe", "queue": order["queue"], "tags": tag, "match": "strict"} for tag in tags]
            await self._send_and_await(commands, "subscribed")


def _groups(order: Fields) -> list[int]:
    count, group = order["count"], order["group"]
    whole, rest = divmod(count, group)
    return [group] * whole + ([rest] if rest else [])


def _about(claim: Fields, kind: str) -> Fields:
    named = {name: claim[name] for name in ("queue", "shard", "sequence", "index")}
    return {"type": kind, **named}


class Driver:
    def __init__(self, application: Any) -> None:
        self._application = application
        self._connections: dict[str, Connection] = {}

    async def carry_out(self, order: Fields) -> float:
        """Returns how many seconds it took."""
        connection = await self._connection(order["connection"])
        began = time.perf_counter()
        done = getattr(connection, order["order"])(order)
        if done is not None:
            await done
        return time.perf_counter() - began

    async def _connection(self, name: str) -> Connection:
        if name not in self._connections:
            self._connections[name] = Connection(self._application)
            await self._connections[name].frame("hello")
        return self._connections[name]


async def main() -> None:
    driver = Driver(importlib.import_module("willow_site.asgi").application)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            answer: Fields = {"seconds": await driver.carry_out(json.loads(line))}
        except (BrokerError, KeyError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # the version's own packages, in place of those beside this file
    uvloop.run(main())
