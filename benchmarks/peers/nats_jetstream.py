"""NATS JetStream with a file store, through nats-py. It flushes to disk every two minutes, not for every message."""

import asyncio
import importlib.util
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from benchmarks.peers.local_server import free_port, not_on_path, running

NAME = "NATS JetStream"
DURABILITY = "in the system's cache"
PROGRAM = "nats-server"
STREAM, SUBJECT, CONSUMER = "bench", "bench", "workers"
NOTHING_SECONDS = 1


def missing() -> str | None:
    if importlib.util.find_spec("nats") is None:
        return "the package nats-py is not installed"
    return not_on_path(PROGRAM)


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

    async def take(self, count: int) -> Sequence[Any]:
        try:
            taken: Sequence[Any] = await self._subscription.fetch(count, timeout=NOTHING_SECONDS)
        except TimeoutError:
            return []
        return taken

    async def finish(self, taken: Sequence[Any]) -> None:
        await asyncio.gather(*(message.ack_sync() for message in taken))


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
