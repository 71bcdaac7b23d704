"""Procrastinate: a task queue in PostgreSQL, with its own client and its own worker."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg

from benchmarks.peers.environment import python
from willow_site.embedded.postgres import throwaway_postgres

NAME = "Procrastinate"
CONFIRM = "committed and flushed"
APPLICATION = "benchmarks.peers.workers.procrastinate_worker.app"
IN_GROUPS = True  # posts; its workers know no groups
NOT_ENDED = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with throwaway_postgres() as url:
        environ = {**os.environ, "BENCH_ADDRESS": url}
        subprocess.run([*_procrastinate(), "schema", "--apply"], env=environ, check=True, capture_output=True)
        yield url


def _procrastinate() -> list[str]:
    return [python(), "-m", "procrastinate", f"--app={APPLICATION}", "--log-level=error"]


def worker_command(address: str) -> list[str]:
    return [*_procrastinate(), "worker", "--concurrency=8"]


async def left(address: str) -> int:
    async with await psycopg.AsyncConnection.connect(address) as connection:
        row = await (await connection.execute(NOT_ENDED)).fetchone()
        assert row is not None
        return int(row[0])


class ProcrastinateConnection:
    def __init__(self, task: Any) -> None:
        self._task = task

    async def post(self, bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            await self._task.defer_async(body=bodies[0].decode())
        else:
            await self._task.batch_defer_async(*({"body": body.decode()} for body in bodies))


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[ProcrastinateConnection]:
    """Its application has a pool of connections, which all clients of a process share."""
    os.environ["BENCH_ADDRESS"] = address
    from benchmarks.peers.workers.procrastinate_worker import app, work

    if _opened:
        yield ProcrastinateConnection(work)
        return
    async with app.open_async():
        _opened.append(address)
        try:
            yield ProcrastinateConnection(work)
        finally:
            _opened.clear()


_opened: list[str] = []
