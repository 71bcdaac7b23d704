"""How long after the commit of a transaction its post is with a client that waits for it, on a node that is idle."""

import asyncio
import random
import time
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

import psycopg
import willow_client

QUEUE = "bench.commits"
POST = f"SELECT willow_post('{QUEUE}', 'committed')"
PAUSES = 0.15, 0.35  # seconds between two commits: the node's poll is at its slowest again, and anywhere in its pause
PATIENCE = 120.0  # seconds: posts of another measurement may come first


@dataclass(frozen=True)
class Latencies:
    p50: float  # milliseconds
    p99: float


async def measure(url: str, database_url: str, commits: int) -> Latencies:
    async with (
        willow_client.connect(url) as client,
        await psycopg.AsyncConnection.connect(database_url) as connection,
    ):
        await _latency(client, connection)  # which makes the queue
        found = []
        for _ in range(commits):
            await asyncio.sleep(random.uniform(*PAUSES))
            found.append(await _latency(client, connection))
    hundredths = quantiles(found, n=100, method="inclusive")
    return Latencies(hundredths[49], hundredths[98])


async def _latency(client: willow_client.Client, connection: psycopg.AsyncConnection[Any]) -> float:
    received = asyncio.ensure_future(client.pop(QUEUE, block_timeout=PATIENCE))
    await connection.execute(POST)
    await connection.commit()
    committed = time.perf_counter()
    if await received is None:
        raise RuntimeError("What was committed did not arrive.")
    return (time.perf_counter() - committed) * 1000
