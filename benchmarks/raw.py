"""The broker's own statements straight from psycopg: the limit that PostgreSQL sets on this machine."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection

from delivery.arrays import BigintColumn, ByteaColumn, Float8Column, TextColumn, register_columns
from delivery.database import PLANNER
from delivery.stages import SYNC
from delivery.statements import statement

NODE = 1
POSTER = 1
QUEUES_OWN_TIMEOUT = -1.0
NO_FLOOR = 0
RANK_OF_NO_FLOOR = -(2**40)  # below every priority's

Row = Sequence[Any]


class RawQueue:
    """One queue on one connection, as one lane of the broker would use it."""

    def __init__(self, connection: AsyncConnection[Any], queue_id: int, *, holder: int = 1) -> None:
        self._connection = connection
        self._queue_id = queue_id
        self._holder = holder
        self.floor = NO_FLOOR

    async def post(self, bodies: Sequence[bytes]) -> None:
        await self._connection.execute(statement("post"), self.post_columns(bodies), binary=True)

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
            "label": BigintColumn([1] * size),
            "notify": BigintColumn([SYNC] * size),
            "node": NODE,
        }

    async def claim(self, count: int) -> list[Row]:
        columns = {
            "queue_id": BigintColumn([self._queue_id]),
            "first_place": BigintColumn([1]),
            "places": BigintColumn([count]),
            "floor_rank": BigintColumn([0 if self.floor else RANK_OF_NO_FLOOR]),
            "floor_index": BigintColumn([self.floor]),
            "holder": BigintColumn([self._holder] * count),
            "work_timeout": Float8Column([QUEUES_OWN_TIMEOUT] * count),
            "node": NODE,
        }
        cursor = await self._connection.execute(statement("claim"), columns, binary=True)
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
        cursor = await self._connection.execute(statement("finish"), columns, binary=True)
        await cursor.fetchall()


@asynccontextmanager
async def raw_connection(database_url: str, *, synchronous: bool = True) -> AsyncIterator[AsyncConnection[Any]]:
    """A connection with the broker's own settings."""
    settings = {**PLANNER, "synchronous_commit": "on" if synchronous else "off"}
    async with await AsyncConnection.connect(
        database_url,
        autocommit=True,
        prepare_threshold=0,
        options=" ".join(f"-c {name}={value}" for name, value in settings.items()),
    ) as connection:
        register_columns(connection)
        yield connection


async def fill(database_url: str, queue_id: int, *, messages: int, body_size: int, batch: int = 1000) -> None:
    """Put messages into a queue as fast as PostgreSQL takes them."""
    async with raw_connection(database_url, synchronous=False) as connection:
        queue = RawQueue(connection, queue_id)
        for begin in range(0, messages, batch):
            await queue.post([b"x" * body_size] * min(batch, messages - begin))
