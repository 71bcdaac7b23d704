"""A well-behaved client: posts, fetches and finishes at a steady, modest rate, and notes how long each took."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import willow_client
from willow_client import Client, WillowError

ROUNDS_PER_SECOND = 20  # each is a post, a fetch and a finish
NEWCOMERS_PER_SECOND = 4  # that connect, are greeted and go
PATIENCE = 20.0  # seconds, after which an answer counts as refused
QUEUE = "bystander"
BODY = b"x" * 100


@dataclass
class Seen:
    """Milliseconds of each command and of each greeting, and what was refused."""

    commands: list[float] = field(default_factory=list)
    greetings: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Times:
    median: float
    p99: float


def times(milliseconds: list[float]) -> Times:
    if len(milliseconds) < 2:
        return Times(PATIENCE * 1000, PATIENCE * 1000)
    return Times(median(milliseconds), quantiles(milliseconds, n=100, method="inclusive")[98])


async def behave_well(url: str, seconds: float) -> Seen:
    """Everything begins at fixed times, whether or not what came before was answered: a slow node gets no mercy."""
    seen = Seen()
    async with willow_client.connect(url) as client:
        await client.create(QUEUE)
        await asyncio.gather(
            _steadily(ROUNDS_PER_SECOND, seconds, lambda: _round(client, seen)),
            _steadily(NEWCOMERS_PER_SECOND, seconds, lambda: _arrive(url, seen)),
        )
    return seen


async def _steadily(rate: float, seconds: float, work: Any) -> None:
    began = time.perf_counter()
    tasks = []
    for number in range(round(rate * seconds)):
        await asyncio.sleep(began + number / rate - time.perf_counter())
        tasks.append(asyncio.ensure_future(work()))
    await asyncio.gather(*tasks)


async def _round(client: Client, seen: Seen) -> None:
    try:
        await _timed(client.post(QUEUE, BODY), seen.commands)
        message = await _timed(client.fetch(QUEUE, block_timeout=PATIENCE), seen.commands)
        if message is not None:
            await _timed(message.finish(), seen.commands)
    except (WillowError, TimeoutError) as error:
        seen.refusals.append(repr(error))


async def _arrive(url: str, seen: Seen) -> None:
    client = willow_client.connect(url)
    try:
        await _timed(client.open(), seen.greetings)
    except (WillowError, TimeoutError) as error:
        seen.refusals.append(f"hello: {error!r}")
    else:
        await client.close()


async def _timed(answer: Awaitable[Any], into: list[float]) -> Any:
    began = time.perf_counter()
    async with asyncio.timeout(PATIENCE):
        found = await answer
    into.append((time.perf_counter() - began) * 1000)
    return found
