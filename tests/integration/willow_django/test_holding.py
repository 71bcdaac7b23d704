"""How many tasks a worker holds beside those that run: what waits in one, another one cannot have."""

import asyncio
from pathlib import Path

import pytest
from willow_client import Client, GiveBack, Message
from willow_django.holding import LOOKS, Holding
from willow_django.turns import Turns

from tests.integration.willow_django.conftest import Project
from tests.integration.willow_django.test_tasks import READY, RUN
from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, Cluster, wait_until


def test_long_tasks_are_left_to_other_workers(broker: Cluster, shop: Project, tmp_path: Path) -> None:
    """Also those that came while tasks were short, without an attempt spent."""
    go = tmp_path / "go"

    def begun() -> int:
        return len(list(tmp_path.glob("*.begun")))

    shop.python(
        RUN
        + f"""
with transaction.atomic():
    for number in range(300):
        jobs.add.enqueue(number, 1)
    for _ in range(30):
        jobs.until_there_is.enqueue({str(go)!r})
"""
    )
    with shop.running("willow_worker", "--concurrency", "2"):
        assert wait_until(lambda: begun() == 2, 2 * PATIENCE)
        assert wait_until(lambda: broker.query(READY, f"{shop.prefix}default") == [(0,)] * 27, PATIENCE)
        with shop.running("willow_worker", "--concurrency", "25"):
            assert wait_until(lambda: begun() == 27, 2 * PATIENCE)
            go.touch()
            assert wait_until(lambda: begun() == 30, PATIENCE)


async def test_as_many_are_held_as_end_in_a_moment(client: Client, queue: str) -> None:
    await client.post_many(queue, map(str, range(20)))
    turns = Turns(1)
    here: set[int] = set()
    given_back: set[int] = set()

    async def handle(message: Message) -> None:
        here.add(message.index)
        try:
            await turns.take()
            await asyncio.Event().wait()
        except GiveBack:
            given_back.add(message.index)
            raise

    worker = client.worker(queue, handle, concurrency=17, prefetch=0, drain_timeout=0)
    looking = asyncio.ensure_future(Holding(worker, turns, 1).adapt())
    async with asyncio.timeout(PATIENCE), worker:
        while len(here) < 9:
            turns.ended += 9 * LOOKS
            await asyncio.sleep(LOOK_SECONDS)
        while len(given_back) < len(here) - 2:
            await asyncio.sleep(LOOK_SECONDS)
    looking.cancel()
    assert min(here) not in given_back


async def test_those_that_came_last_are_given_back() -> None:
    turns = Turns(1)
    await turns.take()
    waiting = [asyncio.ensure_future(turns.take()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    turns.keep(1)
    with pytest.raises(GiveBack):
        await turns.take()
    turns.end()
    await waiting[1]
    with pytest.raises(GiveBack):
        await waiting[2]
