"""Pops over REST that wait: as many as a careless script starts."""

import asyncio
from collections import Counter

import httpx

from benchmarks.neighbours.attacker import Spoils, Target

NAME = "rest-pops"
REQUESTS = 220
WAIT_SECONDS = 30


async def attack(target: Target, seconds: float) -> Spoils:
    got: Spoils = Counter()
    limits = httpx.Limits(max_connections=REQUESTS)
    async with httpx.AsyncClient(base_url=target.http_url, limits=limits, timeout=60) as client:
        tasks = [asyncio.ensure_future(_pop(client, got)) for _ in range(REQUESTS)]
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            got["still waiting"] += not task.done()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return +got


async def _pop(client: httpx.AsyncClient, got: Spoils) -> None:
    try:
        answer = await client.post("/api/messages/pop/", json={"queue": "nothing-here", "timeout": WAIT_SECONDS})
    except httpx.HTTPError as error:
        got[type(error).__name__] += 1
    else:
        got[f"status {answer.status_code}"] += 1
