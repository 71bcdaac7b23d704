"""The statements of the PostgreSQL extension PGMQ: visibility timeouts; no word of who holds a message."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection

from benchmarks.peers.pgmq import ARCHIVE, READ, SEND, TABLES
from faults.peers import CLAIM_SECONDS, Taken
from willow_site.embedded.postgres import PostgresServer

BATCH = 4
NAME = "PGMQ"


class PgmqServer(PostgresServer):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ends_with_starter=True)

    def start(self) -> str:
        url = super().start()
        with psycopg.connect(url, autocommit=True) as connection:
            if connection.execute("SELECT to_regclass('q_bench')").fetchone() == (None,):
                connection.execute(TABLES)
        return url

    def left(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            return [body for (body,) in connection.execute("SELECT message FROM q_bench")]


class PgmqConnection:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def post(self, body: str) -> int | None:
        row = await (await self._connection.execute(SEND, [[json.dumps(body)]])).fetchone()
        return row[0] if row else None

    async def take(self) -> Sequence[Taken]:
        reading = READ.replace("RETURNING m.msg_id, m.message", "RETURNING m.msg_id, m.read_ct, m.message")
        cursor = await self._connection.execute(reading, [BATCH, CLAIM_SECONDS])
        return [Taken(*row) for row in await cursor.fetchall()]

    async def finish(self, taken: Taken) -> bool:
        return await (await self._connection.execute(ARCHIVE, [[taken.number]])).fetchone() is not None

    async def close(self) -> None:
        await self._connection.close()


async def connect(url: str, name: str) -> PgmqConnection:
    return PgmqConnection(await AsyncConnection.connect(url, autocommit=True, connect_timeout=5))
