"""An operator raises a limit while clients wait for it: how soon they get what it lets go, here and on other nodes."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Sequence

import willow_client

from benchmarks.broker_process import BrokerProcess
from benchmarks.figures import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "limit-changes"
QUEUES = ("limit-raised-here", "limit-raised-elsewhere")
CHANGES = 10
PATIENCE = 30.0  # seconds
ONE_SECOND = 1.0
AT_MOST = Bar(1.0, at_most=True)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    """The other node shares nothing but the database with the one that is asked, so it hears of no hint."""
    other = BrokerProcess(stage.database_url)
    try:
        other.start()
        key = stage.broker.output_of("key", "create", "--client", "operator", "--grant", "*:admin").split()[0]
        here, elsewhere = (
            stage.on_broker(_seconds_until_in_force, node.url, stage.broker.http_url, key, queue)
            for node, queue in zip((stage.broker, other), QUEUES, strict=True)
        )
    finally:
        other.remove()
    return [
        _figure("on the node that was told", here),
        _figure("on a node whose hint is lost, which polls", elsewhere),
    ]


def _figure(where: str, seconds: Sequence[float]) -> Figure:
    return Figure(
        name=f"longest of {CHANGES} times until a raised `max_in_flight` is in force, {where}",
        unit="s",
        values=[max(seconds)],
        limits=[ONE_SECOND],
        bar=AT_MOST,
    )


async def _seconds_until_in_force(_: str, url: str, http_url: str, key: str, queue: str) -> list[float]:
    """From the operator's request until the next message has come to a client that waits for it."""
    async with willow_client.connect(url) as client:
        shard = (await client.create(queue, max_in_flight=1)).shard
        for _number in range(CHANGES + 1):
            await client.post(queue, "x")
        seconds: list[float] = []
        async with client.subscribe(queue, in_flight=CHANGES + 1) as messages, asyncio.timeout(PATIENCE):
            held = [await anext(messages)]
            for limit in range(2, CHANGES + 2):
                began = time.perf_counter()
                await asyncio.to_thread(_change, f"{http_url}/api/queues/{shard}/", key, limit)
                held.append(await anext(messages))
                seconds.append(time.perf_counter() - began)
            for message in held:
                await message.finish()
        return seconds


def _change(address: str, key: str, limit: int) -> None:
    headers = {"Authorization": f"Token {key}", "Content-Type": "application/json"}
    body = json.dumps({"max_in_flight": limit}).encode()
    with urllib.request.urlopen(urllib.request.Request(address, body, headers, method="PATCH"), timeout=PATIENCE):
        pass
