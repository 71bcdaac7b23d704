"""The queues that a node knows, kept up to date from the database."""

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.engine.queues import Directory
from delivery.storage.lanes import Lane, job_lane, run_job
from queues.definitions import QueueRecord

pytestmark = pytest.mark.django_db(transaction=True)

DEFINE = """
    INSERT INTO queues_queue (name, tags, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max, changed_at)
    VALUES ('orders', '{eu}', 300, 0, 1, 0, now() - interval '30 minutes')
"""


@pytest.fixture
async def jobs() -> AsyncIterator[Lane]:
    jobs = job_lane("jobs of a test")
    running = asyncio.create_task(jobs.run())
    await jobs.connected.wait()
    yield jobs
    running.cancel()


async def test_a_node_that_was_silent_learns_all_that_was_defined_meanwhile(
    jobs: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = Directory(jobs, announce=lambda queue, nodes, done: done(), changed=lambda queue_id: None)
    resolved: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    directory.resolve("orders", (), "strict", resolved.set_result, resolved.set_exception)
    assert await resolved == []
    joined: list[QueueRecord] = []
    directory.watch("orders", (), "strict", joined.append)
    await run_job(jobs, directory.refresh)

    an_hour_later = time.monotonic() + 3600
    monkeypatch.setattr("delivery.engine.queues.time", SimpleNamespace(monotonic=lambda: an_hour_later))
    await run_job(jobs, lambda connection: connection.execute(DEFINE))
    await run_job(jobs, directory.refresh)
    assert [queue.tags for queue in joined] == [("eu",)]
