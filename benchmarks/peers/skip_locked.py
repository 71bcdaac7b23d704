"""The queue that one writes oneself: a table, `FOR UPDATE SKIP LOCKED`, and psycopg."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection

from benchmarks.peers.connection import Taken
from benchmarks.peers.polling import poll
from willow_site.embedded.postgres import throwaway_postgres

NAME = "table with SKIP LOCKED"
CONFIRM = "committed and flushed"

TABLE = """
CREATE TABLE job (id bigserial PRIMARY KEY, body bytea NOT NULL, taken_at timestamptz);
CREATE INDEX job_waiting ON job (id) WHERE taken_at IS NULL;
"""
POST = "INSERT INTO job (body) SELECT unnest(%s::bytea[])"
TAKE = """
UPDATE job SET taken_at = now()
WHERE id = ANY (ARRAY(SELECT id FROM job WHERE taken_at IS NULL ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED))
RETURNING id, body
"""
FINISH = "DELETE FROM job WHERE id = ANY (%s)"


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with throwaway_postgres() as url:
        with psycopg.connect(url) as connection:
            connection.execute(TABLE)
        yield url


class TableConnection:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def post(self, bodies: Sequence[bytes]) -> None:
        await self._connection.execute(POST, [list(bodies)])

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        return await poll(lambda: self._take(count), wait)

    async def _take(self, count: int) -> Sequence[Taken]:
        cursor = await self._connection.execute(TAKE, [count], binary=True)
        return [Taken(number, body) for number, body in await cursor.fetchall()]

    async def finish(self, taken: Sequence[Taken]) -> None:
        await self._connection.execute(FINISH, [[message.claim for message in taken]])


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[TableConnection]:
    async with await AsyncConnection.connect(address, autocommit=True, prepare_threshold=0) as connection:
        yield TableConnection(connection)
