"""Celery with Redis as its broker, which flushes every command; late acknowledgements, so that nothing is lost."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from benchmarks.peers.environment import python
from benchmarks.peers.valkey_streams import missing, serving

__all__ = ["CONFIRM", "NAME", "connect", "left", "missing", "serving", "worker_command"]

NAME = "Celery on Redis, acks late"
CONFIRM = "appended to Redis's log and flushed"
QUEUE, UNACKNOWLEDGED = "celery", "unacked"
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR")


def worker_command(address: str) -> list[str]:
    application = "benchmarks.peers.workers.celery_worker"
    return [python(), "-m", "celery", "-A", application, "worker", "--concurrency=8", *QUIET]


async def left(address: str) -> int:
    async with Redis.from_url(address, protocol=2) as redis:
        return int(await redis.llen(QUEUE)) + int(await redis.hlen(UNACKNOWLEDGED))


class CeleryConnection:
    """Celery's client blocks, so each post is made in a thread."""

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.to_thread(_send, bodies)


def _send(bodies: Sequence[bytes]) -> None:
    from benchmarks.peers.workers.celery_worker import work

    for body in bodies:
        work.delay(body.decode())


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[CeleryConnection]:
    os.environ["BENCH_ADDRESS"] = address
    yield CeleryConnection()
