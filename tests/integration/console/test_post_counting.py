"""Posts are counted while nobody looks, so that the first who looks sees the last minutes."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from psycopg import AsyncConnection

from console import post_counting
from console.post_counting import PostCounting
from console.readings import lately
from delivery.figures import recent_rates
from delivery.figures.recent_rates import Lately
from delivery.node import life
from delivery.node.node import Node
from delivery.storage.lanes import Lane, job_lane, run_job
from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

SLOT_SECONDS = 0.2
DEFINE = """
    INSERT INTO queues_queue (name, tags, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max)
    VALUES ('orders', '{}', 300, 0, 1, 0) RETURNING id
"""
POST_THIRTY = "UPDATE queues_counter SET newest_index = newest_index + 30 WHERE queue_id = %s"


@pytest.fixture
async def jobs() -> AsyncIterator[Lane]:
    lane = job_lane("jobs of a test")
    task = asyncio.create_task(lane.run())
    await lane.connected.wait()
    yield lane
    task.cancel()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Lately:
    """What the console has counted: nothing yet, and in short slots."""
    fresh = Lately()
    monkeypatch.setattr(post_counting, "lately", fresh)
    for module in (post_counting, recent_rates):
        monkeypatch.setattr(module, "SLOT_SECONDS", SLOT_SECONDS)
    return fresh


async def until_posts_are_seen(counted: Lately, queue_id: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while not any(counted.rates(queue_id).posted):
            await asyncio.sleep(LOOK_SECONDS)


async def test_posts_are_counted_though_nobody_has_looked(jobs: Lane, counted: Lately) -> None:
    async def define(connection: AsyncConnection[Any]) -> int:
        row = await (await connection.execute(DEFINE)).fetchone()
        assert row is not None
        return int(row[0])

    queue_id = await run_job(jobs, define)
    node = cast(Node, SimpleNamespace(jobs=jobs))
    counting = asyncio.create_task(PostCounting().run(node))
    async with asyncio.timeout(PATIENCE):
        while all(value is None for value in counted.rates(queue_id).posted):
            await asyncio.sleep(LOOK_SECONDS)
    await run_job(jobs, lambda connection: connection.execute(POST_THIRTY, [queue_id]))
    await until_posts_are_seen(counted, queue_id)
    counting.cancel()


def test_every_node_counts() -> None:
    from willow_site import asgi  # noqa: F401  # it names what runs beside the node

    assert lately is post_counting.lately
    assert any(isinstance(companion, PostCounting) for companion in life._companions)
