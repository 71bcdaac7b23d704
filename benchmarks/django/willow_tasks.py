"""Django's tasks on Willow, as the task queues of benchmarks/peers are measured: in a Django project of its own."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg

from benchmarks.broker_process import fresh_broker
from willow_site.project_folder import PROJECT_FOLDER

NAME = "Willow, Django's tasks"
PROGRAM = Path(__file__).parent / "project" / "bench_project.py"
NOT_ENDED = "SELECT count(*) FROM willow_django_taskrecord WHERE status IN ('READY', 'RUNNING')"


@contextmanager
def serving() -> Iterator[str]:
    with fresh_broker() as broker:
        broker.start()
        address = json.dumps({"broker": broker.url, "database": broker.database_url})
        subprocess.run([*_program(), "migrate", "--verbosity=0"], env=worker_environ(address), check=True)
        yield address


def worker_command(address: str) -> list[str]:
    return [*_program(), "willow_worker", "--concurrency=8"]


def worker_environ(address: str) -> dict[str, str]:
    """Without the peers' packages: those would come before the project's."""
    paths = os.pathsep.join([str(PROJECT_FOLDER), str(PROJECT_FOLDER / "sdk")])
    return {**os.environ, "PYTHONPATH": paths, "BENCH_ADDRESS": address}


async def left(address: str) -> int:
    async with await psycopg.AsyncConnection.connect(json.loads(address)["database"]) as connection:
        row = await (await connection.execute(NOT_ENDED)).fetchone()
        assert row is not None
        return int(row[0])


class Enqueuer:
    """A process of the project, which enqueues: this one has the broker's settings."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def post(self, bodies: Sequence[bytes]) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{len(bodies)}\n".encode())
        if not await self._process.stdout.readline():
            raise RuntimeError("The project could not enqueue its tasks.")


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[Enqueuer]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *_program(), "enqueue", stdin=pipe, stdout=pipe, env=worker_environ(address)
    )
    try:
        yield Enqueuer(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _program() -> list[str]:
    return [sys.executable, str(PROGRAM)]
