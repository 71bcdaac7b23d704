"""Dramatiq with Redis as its broker, which flushes every command."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from benchmarks.peers.environment import python
from benchmarks.peers.valkey_streams import missing, serving

__all__ = ["CONFIRM", "NAME", "connect", "left", "missing", "serving", "worker_command"]

NAME = "Dramatiq on Redis"
CONFIRM = "appended to Redis's log and flushed"
MESSAGES = "dramatiq:default.msgs"  # each until it is acknowledged


def worker_command(address: str) -> list[str]:
    application = "benchmarks.peers.workers.dramatiq_worker"
    return [python(), "-m", "dramatiq", application, "--processes=2", "--threads=4"]


async def left(address: str) -> int:
    async with Redis.from_url(address, protocol=2) as redis:
        return int(await redis.hlen(MESSAGES))


class DramatiqConnection:
    """Dramatiq's client blocks, so each post is made in a thread."""

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.to_thread(_send, bodies)


def _send(bodies: Sequence[bytes]) -> None:
    from benchmarks.peers.workers.dramatiq_worker import work

    for body in bodies:
        work.send(body.decode())


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[DramatiqConnection]:
    os.environ["BENCH_ADDRESS"] = address
    yield DramatiqConnection()
