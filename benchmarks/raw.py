"""The broker's own statements straight from psycopg: the limit that PostgreSQL sets on this machine."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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

    async def post(self, prepared: "PreparedPost") -> None:
        cursor = await self._flushing.execute(statement(prepared.statement), prepared.values, binary=True)
        await cursor.fetchall()

    def prepare_post(self, bodies: Sequence[bytes]) -> "PreparedPost":
        """As the broker does: a single message goes by a statement of its own. No ID is free."""
        values = {
            "queue_id": self._queue_id,
            "sequence": None,
            "former": None,
            "priority": 0,
            "delay": None,
            "ttl": None,
            "key": None,
            "poster": POSTER,
            "label": LABEL,
            "notify": SYNC,
            "work_timeout": None,
            "holder": None,
            "index_before": None,
        }
        if len(bodies) == 1:
            return PreparedPost("post_one", values | {"body": bodies[0], "node": NODE})
        size = len(bodies)
        columns = {name: column([values[name]] * size) for name, column in POST_COLUMNS.items()}
        columns |= {"sequence": BigintColumn(range(-1, -1 - size, -1)), "body": ByteaColumn(bodies)}
        counted = {"queue_id": self._queue_id, "messages": size, "fresh": size, "oldest": None, "node": NODE}
        return PreparedPost("post_to_one", columns | counted)

    async def claim(self, count: int) -> list[Row]:
        values = {
            "queue_id": self._queue_id,
            "places": count,
            "floor_rank": RANK_OF_PRIORITY_0,
            "floor_index": self.floor,
            "holder": BigintColumn([self._holder] * count),
            "work_timeout": Float8Column([QUEUES_OWN_TIMEOUT] * count),
            "node": NODE,
        }
        cursor = await self._writing.execute(statement("claim_from_one"), values, binary=True)
        return await cursor.fetchall()

    async def finish(self, claimed: Sequence[Row]) -> None:
        common = {"outcome": "finished", "node": NODE, "node_name": "raw"}
        if len(claimed) == 1:
            ((_, _, sequence, index, *_),) = claimed
            values = {"queue_id": self._queue_id, "sequence": sequence, "index": index, "holder": self._holder}
            values |= {"attempt": None, "client": None, "reply": None}
            cursor = await self._writing.execute(statement("finish_one"), values | common, binary=True)
        else:
            cursor = await self._writing.execute(statement("finish"), self._endings(claimed) | common, binary=True)
        await cursor.fetchall()

    def _endings(self, claimed: Sequence[Row]) -> dict[str, Any]:
        size = len(claimed)
        return {
            "queue_id": BigintColumn([self._queue_id] * size),
            "sequence": BigintColumn([sequence for _, _, sequence, *_ in claimed]),
            "index": BigintColumn([index for _, _, _, index, *_ in claimed]),
            "holder": BigintColumn([self._holder] * size),
            "attempt": BigintColumn([None] * size),
            "client": TextColumn([None] * size),
            "reply": ByteaColumn([None] * size),
        }


@dataclass(frozen=True)
class PreparedPost:
    """A statement and its parameters, made once for many posts of the same messages."""

    statement: str
    values: dict[str, Any]


POST_COLUMNS: dict[str, type] = {
    **dict.fromkeys(
        ("priority", "poster", "label", "notify", "holder", "index_before"),
        BigintColumn,
    ),
    **dict.fromkeys(("delay", "ttl", "work_timeout"), Float8Column),
    "key": TextColumn,
}


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
            await queue.post(queue.prepare_post([b"x" * body_size] * min(FILL_BATCH, messages - begin)))


async def pass_through(database_url: str, queue_id: int, *, messages: int, body_size: int) -> None:
    """Post, claim and finish messages, a thousand at a time."""
    async with raw_queues(database_url, queue_id, 1) as (queue,):
        post = queue.prepare_post([b"x" * body_size] * FILL_BATCH)
        for _ in range(0, messages, FILL_BATCH):
            await queue.post(post)
            claimed = await queue.claim(FILL_BATCH)
            queue.floor = max(index for _, _, _, index, *_ in claimed)
            await queue.finish(claimed)
