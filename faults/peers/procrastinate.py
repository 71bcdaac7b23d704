"""Procrastinate's own functions in PostgreSQL: jobs of workers whose heartbeat has stopped are tried again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection

from benchmarks.peers.environment import packages
from faults.peers import CLAIM_SECONDS, Taken
from willow_site.embedded.postgres import PostgresServer

NAME = "Procrastinate"
QUEUE, TASK = "faults", "work"
BATCH = 4
SCHEMA = Path(packages()) / "procrastinate" / "sql" / "schema.sql"

DEFER = """
    SELECT (procrastinate_defer_jobs_v1(ARRAY[
        ROW(%s, %s, 0, NULL, NULL, %s::jsonb, NULL)::procrastinate_job_to_defer_v1
    ]))[1]
"""
FETCH = "SELECT id, attempts + 1, args ->> 'body' FROM procrastinate_fetch_job_v2(ARRAY[%s], %s)"
FINISH = "SELECT procrastinate_finish_job_v1(%s, 'succeeded', true)"
# What its documentation lets a periodic task do: jobs whose worker has not been heard of for long.
RETRY_STALLED = """
    SELECT procrastinate_retry_job_v2(j.id, now(), NULL, NULL, NULL)
    FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
    WHERE j.status = 'doing' AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => %s))
"""
LEFT = "SELECT args ->> 'body' FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


class ProcrastinateServer(PostgresServer):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ends_with_starter=True)

    def start(self) -> str:
        url = super().start()
        with psycopg.connect(url, autocommit=True) as connection:
            if connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
                connection.execute(SCHEMA.read_bytes())
        return url

    def left(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            return [body for (body,) in connection.execute(LEFT)]


class ProcrastinateConnection:
    def __init__(self, connection: AsyncConnection[Any], worker: int) -> None:
        self._connection = connection
        self._worker = worker

    async def post(self, body: str) -> int | None:
        row = await (await self._connection.execute(DEFER, [QUEUE, TASK, json.dumps({"body": body})])).fetchone()
        return row[0] if row else None

    async def take(self) -> Sequence[Taken]:
        await self._connection.execute("SELECT procrastinate_update_heartbeat_v1(%s)", [self._worker])
        await self._connection.execute(RETRY_STALLED, [CLAIM_SECONDS])
        taken = []
        for _ in range(BATCH):
            row = await (await self._connection.execute(FETCH, [QUEUE, self._worker])).fetchone()
            if row is None or row[0] is None:
                break
            taken.append(Taken(*row))
        return taken

    async def finish(self, taken: Taken) -> bool | None:
        try:
            await self._connection.execute(FINISH, [taken.number])
        except psycopg.errors.RaiseException:  # it is neither waiting nor being worked on
            return False
        return True

    async def close(self) -> None:
        await self._connection.close()


async def connect(url: str, name: str) -> ProcrastinateConnection:
    connection = await AsyncConnection.connect(url, autocommit=True, connect_timeout=5)
    row = await (await connection.execute("SELECT worker_id FROM procrastinate_register_worker_v1()")).fetchone()
    return ProcrastinateConnection(connection, row[0] if row else 0)
