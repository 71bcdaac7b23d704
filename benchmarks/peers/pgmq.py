"""What the PostgreSQL extension PGMQ does, by its own statements: visibility timeouts and an archive."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection

from benchmarks.peers.connection import Taken
from benchmarks.peers.polling import poll
from willow_site.embedded.postgres import throwaway_postgres

NAME = "PGMQ's statements"
CONFIRM = "committed and flushed"
VISIBILITY_SECONDS = 300

TABLES = """
CREATE TABLE q_bench (
    msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct integer NOT NULL DEFAULT 0,
    enqueued_at timestamptz NOT NULL DEFAULT now(), vt timestamptz NOT NULL, message jsonb
);
CREATE INDEX q_bench_vt ON q_bench (vt);
CREATE TABLE a_bench (
    msg_id bigint PRIMARY KEY, read_ct integer NOT NULL, enqueued_at timestamptz NOT NULL,
    archived_at timestamptz NOT NULL DEFAULT now(), vt timestamptz NOT NULL, message jsonb
);
CREATE INDEX a_bench_archived_at ON a_bench (archived_at);
"""
SEND = "INSERT INTO q_bench (vt, message) SELECT clock_timestamp(), unnest(%s::jsonb[]) RETURNING msg_id"
READ = """
WITH chosen AS (
    SELECT msg_id FROM q_bench WHERE vt <= clock_timestamp() ORDER BY msg_id LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE q_bench m SET vt = clock_timestamp() + make_interval(secs => %s), read_ct = read_ct + 1
FROM chosen WHERE m.msg_id = chosen.msg_id
RETURNING m.msg_id, m.message
"""
ARCHIVE = """
WITH archived AS (
    DELETE FROM q_bench WHERE msg_id = ANY (%s) RETURNING msg_id, vt, read_ct, enqueued_at, message
)
INSERT INTO a_bench (msg_id, vt, read_ct, enqueued_at, message)
SELECT msg_id, vt, read_ct, enqueued_at, message FROM archived RETURNING msg_id
"""


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with throwaway_postgres() as url:
        with psycopg.connect(url) as connection:
            connection.execute(TABLES)
        yield url


class PgmqConnection:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def post(self, bodies: Sequence[bytes]) -> None:
        await self._connection.execute(SEND, [[f'"{body.decode()}"' for body in bodies]])

    async def take(self, count: int, wait: float = 0.0) -> Sequence[Taken]:
        return await poll(lambda: self._take(count), wait)

    async def _take(self, count: int) -> Sequence[Taken]:
        cursor = await self._connection.execute(READ, [count, VISIBILITY_SECONDS], binary=True)
        return [Taken(number, body) for number, body in await cursor.fetchall()]

    async def finish(self, taken: Sequence[Taken]) -> None:
        await self._connection.execute(ARCHIVE, [[message.claim for message in taken]])


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[PgmqConnection]:
    async with await AsyncConnection.connect(address, autocommit=True, prepare_threshold=0) as connection:
        yield PgmqConnection(connection)
