"""The queues that a node knows, kept up to date from the database."""

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from delivery.engine.queues import Directory
from delivery.storage.lanes import Lane, desk_lane, on_desk
from queues.definitions import QueueRecord

pytestmark = pytest.mark.django_db(transaction=True)

DEFINE = """
    INSERT INTO queues_queue (name, tags, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max, changed_at)
    VALUES ('orders', '{eu}', 300, 0, 1, 0, now() - interval '30 minutes')
"""


@pytest.fixture
async def desk() -> AsyncIterator[Lane]:
    desk = desk_lane("desk of a test")
    running = asyncio.create_task(desk.run())
    await desk.connected.wait()
    yield desk
    running.cancel()


async def test_a_node_that_was_silent_learns_all_that_was_defined_meanwhile(
    desk: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = Directory(desk, announce=lambda queue, nodes, done: done(), changed=lambda queue_id: None)
    resolved: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    directory.resolve("orders", (), "strict", resolved.set_result, resolved.set_exception)
    assert await resolved == []
    joined: list[QueueRecord] = []
    directory.watch("orders", (), "strict", joined.append)
    await on_desk(desk, directory.refresh)

    an_hour_later = time.monotonic() + 3600
    monkeypatch.setattr("delivery.engine.queues.time", SimpleNamespace(monotonic=lambda: an_hour_later))
    await on_desk(desk, lambda connection: connection.execute(DEFINE))
    await on_desk(desk, directory.refresh)
    assert [queue.tags for queue in joined] == [("eu",)]
