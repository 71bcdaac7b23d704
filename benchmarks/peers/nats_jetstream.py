"""NATS JetStream with a file store, through nats-py. It flushes to disk every two minutes, not for every message."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from benchmarks.peers.connection import Taken
from benchmarks.peers.local_server import free_port, not_on_path, running

NAME = "NATS JetStream"
CONFIRM = "in the system's cache, flushed every two minutes"
PROGRAM = "nats-server"
STREAM, SUBJECT, CONSUMER = "bench", "bench", "workers"
NOTHING_SECONDS = 0.1


def missing() -> str | None:
    return not_on_path(PROGRAM, "nats-server")


@contextmanager
def serving() -> Iterator[str]:
    folder, port = tempfile.mkdtemp(prefix="willow-nats-"), free_port()
    try:
        with running([PROGRAM, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", folder], port):
            yield f"nats://127.0.0.1:{port}"
    finally:
        shutil.rmtree(folder)


class JetStreamConnection:
    def __init__(self, stream: Any, subscription: Any) -> None:
        self._stream = stream
        self._subscription = subscription

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.gather(*(self._stream.publish(SUBJECT, body) for body in bodies))

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        try:
            taken = await self._subscription.fetch(count, timeout=wait or NOTHING_SECONDS)
        except TimeoutError:
            return []
        return [Taken(message, message.data) for message in taken]

    async def finish(self, taken: Sequence[Taken]) -> None:
        await asyncio.gather(*(message.claim.ack_sync() for message in taken))


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[JetStreamConnection]:
    import nats  # only where it is installed

    client = await nats.connect(address)
    try:
        stream = client.jetstream()
        await stream.add_stream(name=STREAM, subjects=[SUBJECT], retention="workqueue")
        yield JetStreamConnection(stream, await stream.pull_subscribe(SUBJECT, durable=CONSUMER))
    finally:
        await client.close()
