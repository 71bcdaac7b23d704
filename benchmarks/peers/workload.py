"""The same work for every peer: eight clients post, eight take and finish, one by one, in hundreds, and all at once."""

import asyncio
import importlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import ModuleType

from benchmarks.peers.connection import Connection
from benchmarks.peers.usage import Usage
from benchmarks.rates import WARM_UP_SECONDS, Meter

CLIENTS = 8
BODY_SIZE = 100  # bytes
BODY = b"x" * BODY_SIZE
FILL_BATCH = 500  # messages
PATIENCE = 0.5  # seconds that a taker waits for the next message
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Work:
    """What was done per second, and what each message cost in processor time."""

    per_second: float
    server: float  # microseconds
    clients: float  # microseconds

    @classmethod
    def of(cls, messages: int, seconds: float, used: Usage) -> "Work":
        messages = max(messages, 1)
        return cls(messages / seconds, used.server * 1e6 / messages, used.clients * 1e6 / messages)


class Progress(Meter):
    """`dry_at`: when somebody found nothing left to do."""

    def __init__(self) -> None:
        super().__init__()
        self.dry_at: float | None = None


Worker = Callable[[Progress], Awaitable[None]]


async def measured(workers: Sequence[Worker], seconds: float) -> Work:
    """Let the workers run side by side and look at a part of that: once warm, and until there is nothing left."""
    meter = Progress()
    tasks = [asyncio.ensure_future(worker(meter)) for worker in workers]
    await asyncio.sleep(WARM_UP_SECONDS)
    done, used, began = meter.done, Usage.so_far(), time.perf_counter()
    meter.dry_at = None
    while time.perf_counter() < began + seconds and meter.dry_at is None:
        await asyncio.sleep(LOOK_SECONDS)
    ended = meter.dry_at or time.perf_counter()
    work = Work.of(meter.done - done, ended - began, Usage.so_far() - used)
    meter.running = False
    await asyncio.gather(*tasks)
    return work


async def post(peer_name: str, address: str, group: int, seconds: float) -> Work:
    async with connected(peer_name, address, CLIENTS) as connections:
        return await measured([posting(connection, group) for connection in connections], seconds)


async def take(peer_name: str, address: str, group: int, seconds: float, enough: int) -> Work:
    """From a queue with more messages than can be taken."""
    await lay_out(peer_name, address, enough, 3 * seconds)
    async with connected(peer_name, address, CLIENTS) as connections:
        return await measured([taking(connection, group) for connection in connections], seconds)


async def both(peer_name: str, address: str, seconds: float) -> Work:
    """Eight post and eight take, one by one; what counts is what was finished."""
    async with connected(peer_name, address, 2 * CLIENTS) as connections:
        posters = [posting(connection, 1, counted=False) for connection in connections[:CLIENTS]]
        takers = [taking(connection, 1) for connection in connections[CLIENTS:]]
        return await measured([*posters, *takers], seconds)


def posting(connection: Connection, group: int, *, counted: bool = True) -> Worker:
    async def work(meter: Progress) -> None:
        while meter.running:
            await connection.post([BODY] * group)
            meter.done += group if counted else 0

    return work


def taking(connection: Connection, group: int) -> Worker:
    async def work(meter: Progress) -> None:
        while meter.running:
            asked_at = time.perf_counter()
            if taken := await connection.take(group, PATIENCE):
                await connection.finish(taken)
                meter.done += len(taken)
            else:
                meter.dry_at = asked_at

    return work


async def lay_out(peer_name: str, address: str, messages: int, seconds: float) -> int:
    """Fill the queue with that many messages, or with as many as can be posted in that time; tells how many."""
    deadline = time.perf_counter() + seconds
    async with connected(peer_name, address, CLIENTS) as connections:
        left = messages

        async def fill(connection: Connection) -> None:
            nonlocal left
            while left > 0 and time.perf_counter() < deadline:
                left -= FILL_BATCH
                await connection.post([BODY] * FILL_BATCH)

        await asyncio.gather(*(fill(connection) for connection in connections))
        return messages - left


def peer_of(name: str) -> ModuleType:
    return importlib.import_module(name)


@asynccontextmanager
async def connected(peer_name: str, address: str, count: int) -> AsyncIterator[list[Connection]]:
    peer = peer_of(peer_name)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(peer.connect(address)) for _ in range(count)]
