"""Willow as the backend of Django's tasks, with its own worker; each task has a row in the project's database, too."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import psycopg

from benchmarks.broker_process import BrokerProcess
from willow_site.configuration import PROJECT_FOLDER
from willow_site.embedded.postgres import throwaway_postgres

NAME = "Django's tasks on Willow"
CONFIRM = "committed and flushed, the task and its row"
MANAGE = [sys.executable, "-m", "benchmarks.peers.workers.willow_worker"]
NOT_ENDED = "SELECT count(*) FROM willow_django_taskrecord WHERE finished_at IS NULL"


def missing() -> str | None:
    return None


@contextmanager
def serving() -> Iterator[str]:
    with throwaway_postgres() as database_url:
        broker = BrokerProcess(database_url)
        try:
            broker.migrate()
            broker.start()
            address = f"{broker.url} {database_url}"
            environ = {**os.environ, "WILLOW_BENCH_ADDRESS": address}
            migrate = [*MANAGE, "migrate", "willow_django", "-v0"]
            subprocess.run(migrate, cwd=PROJECT_FOLDER, env=environ, check=True)
            yield address
        finally:
            broker.remove()


def worker_command(address: str) -> list[str]:
    return [*MANAGE, "willow_worker", "--concurrency", "8"]


async def left(address: str) -> int:
    async with await psycopg.AsyncConnection.connect(address.partition(" ")[2]) as connection:
        row = await (await connection.execute(NOT_ENDED)).fetchone()
        assert row is not None
        return int(row[0])


class TasksConnection:
    """Django's database blocks, so each task is enqueued in a thread."""

    async def post(self, bodies: Sequence[bytes]) -> None:
        await asyncio.to_thread(_enqueue, bodies)


def _enqueue(bodies: Sequence[bytes]) -> None:
    from benchmarks.peers.workers.willow_task import work

    for body in bodies:
        work.enqueue(body.decode())


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[TasksConnection]:
    os.environ["WILLOW_BENCH_ADDRESS"] = address
    from benchmarks.peers.workers.willow_worker import set_up

    set_up()
    yield TasksConnection()
