"""Request and reply of NATS: a queue group of subscribers answers, and nothing is stored."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from benchmarks.peers.local_server import free_port, running
from benchmarks.peers.nats_jetstream import PROGRAM, missing
from benchmarks.peers.requests import Ask

__all__ = ["NAME", "answering", "asking", "missing", "serving"]

NAME = "NATS request/reply (nothing stored)"
SUBJECT, WORKERS = "bench", "workers"
TIMEOUT_SECONDS = 30


@contextmanager
def serving() -> Iterator[str]:
    port = free_port()
    with running([PROGRAM, "-a", "127.0.0.1", "-p", str(port)], port):
        yield f"nats://127.0.0.1:{port}"


@asynccontextmanager
async def asking(address: str) -> AsyncIterator[Ask]:
    async with _connected(address) as client:

        async def ask(body: bytes) -> None:
            await client.request(SUBJECT, body, timeout=TIMEOUT_SECONDS)

        yield ask


@asynccontextmanager
async def answering(address: str) -> AsyncIterator[None]:
    async with _connected(address) as client:

        async def answer(request: Any) -> None:
            await request.respond(request.data)

        await client.subscribe(SUBJECT, queue=WORKERS, cb=answer)
        await client.flush()
        yield


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[Any]:
    import nats  # only where it is installed

    client = await nats.connect(address)
    try:
        yield client
    finally:
        await client.close()
