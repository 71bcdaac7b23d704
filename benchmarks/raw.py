"""The broker's own statements straight from psycopg: the limit that PostgreSQL sets on this machine."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from psycopg import AsyncConnection

from benchmarks.rates import Meter, per_second
from delivery.storage.columns import BigintColumn, ByteaColumn, Float8Column, TextColumn, register_columns
from delivery.storage.connection import PLANNER
from delivery.storage.statements import statement
from delivery.storage.vocabulary import SYNC

NODE = 1
POSTER = 1
LABEL = 1
QUEUES_OWN_TIMEOUT = -1.0
RANK_OF_PRIORITY_0 = 0
FILL_BATCH = 1000  # messages

Row = Sequence[Any]


class RawQueue:
    """One queue, with a connection for what the broker flushes to disk and one for what it does not."""

    def __init__(
        self, flushing: AsyncConnection[Any], writing: AsyncConnection[Any], queue_id: int, holder: int
    ) -> None:
        self._flushing = flushing
        self._writing = writing
        self._queue_id = queue_id
        self._holder = holder
        self.floor = 0  # the index below which nothing is left to claim

    async def post(self, columns: dict[str, Any]) -> None:
        cursor = await self._flushing.execute(statement("post"), columns, binary=True)
        await cursor.fetchall()

    def post_columns(self, bodies: Sequence[bytes]) -> dict[str, Any]:
        size = len(bodies)
        return {
            "queue_id": BigintColumn([self._queue_id] * size),
            "priority": BigintColumn([0] * size),
            "body": ByteaColumn(bodies),
            "delay": Float8Column([None] * size),
            "ttl": Float8Column([None] * size),
            "key": TextColumn([None] * size),
            "poster": BigintColumn([POSTER] * size),
            "label": BigintColumn([LABEL] * size),
            "notify": BigintColumn([SYNC] * size),
            "work_timeout": Float8Column([None] * size),
            "holder": BigintColumn([None] * size),
            "index_before": BigintColumn([None] * size),
            "node": NODE,
        }

    async def claim(self, count: int) -> list[Row]:
        columns = {
            "queue_id": BigintColumn([self._queue_id]),
            "first_place": BigintColumn([1]),
            "places": BigintColumn([count]),
            "floor_rank": BigintColumn([RANK_OF_PRIORITY_0]),
            "floor_index": BigintColumn([self.floor]),
            "holder": BigintColumn([self._holder] * count),
            "work_timeout": Float8Column([QUEUES_OWN_TIMEOUT] * count),
            "node": NODE,
        }
        cursor = await self._writing.execute(statement("claim"), columns, binary=True)
        return await cursor.fetchall()

    async def finish(self, claimed: Sequence[Row]) -> None:
        size = len(claimed)
        columns = {
            "queue_id": BigintColumn([self._queue_id] * size),
            "sequence": BigintColumn([sequence for _, _, sequence, *_ in claimed]),
            "index": BigintColumn([index for _, _, _, index, *_ in claimed]),
            "holder": BigintColumn([self._holder] * size),
            "client": TextColumn([None] * size),
            "reply": ByteaColumn([None] * size),
            "outcome": "finished",
            "node": NODE,
            "node_name": "raw",
        }
        cursor = await self._writing.execute(statement("finish"), columns, binary=True)
        await cursor.fetchall()


@asynccontextmanager
async def raw_queues(database_url: str, queue_id: int, count: int) -> AsyncIterator[list[RawQueue]]:
    """That many clients of one queue, each with connections of its own."""
    async with AsyncExitStack() as stack:
        yield [
            RawQueue(
                await stack.enter_async_context(await _connect(database_url, synchronous=True)),
                await stack.enter_async_context(await _connect(database_url, synchronous=False)),
                queue_id,
                holder,
            )
            for holder in range(count)
        ]


async def _connect(database_url: str, *, synchronous: bool) -> AsyncConnection[Any]:
    """A connection with the broker's own settings."""
    settings = {**PLANNER, "synchronous_commit": "on" if synchronous else "off"}
    connection = await AsyncConnection.connect(
        database_url,
        autocommit=True,
        prepare_threshold=0,
        options=" ".join(f"-c {name}={value}" for name, value in settings.items()),
    )
    register_columns(connection)
    return connection


async def per_second_on_postgres(
    database_url: str,
    queue_id: int,
    count: int,
    work: Callable[[RawQueue, Meter], Awaitable[None]],
    seconds: float,
) -> float:
    """How much that many connections do per second, each doing the same work."""
    async with raw_queues(database_url, queue_id, count) as queues:
        return await per_second([lambda meter, queue=queue: work(queue, meter) for queue in queues], seconds)


async def fill(database_url: str, queue_id: int, *, messages: int, body_size: int) -> None:
    """Put messages into a queue, a thousand at a time."""
    async with raw_queues(database_url, queue_id, 1) as (queue,):
        for begin in range(0, messages, FILL_BATCH):
            await queue.post(queue.post_columns([b"x" * body_size] * min(FILL_BATCH, messages - begin)))


async def pass_through(database_url: str, queue_id: int, *, messages: int, body_size: int) -> None:
    """Post, claim and finish messages, a thousand at a time."""
    async with raw_queues(database_url, queue_id, 1) as (queue,):
        columns = queue.post_columns([b"x" * body_size] * FILL_BATCH)
        for _ in range(0, messages, FILL_BATCH):
            await queue.post(columns)
            claimed = await queue.claim(FILL_BATCH)
            queue.floor = max(index for _, _, _, index, *_ in claimed)
            await queue.finish(claimed)
