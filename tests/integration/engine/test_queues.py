"""The queues that a node knows, kept up to date from the database."""

import asyncio
import gc
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from psycopg import AsyncConnection

from delivery.engine import lookups
from delivery.engine.lookups import Definition, Lookup, queue_lane
from delivery.engine.queues import MOST_NAMES_WITHOUT_QUEUES, YOUNG_OBJECTS, Directory, SeenLately
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Match
from delivery.storage.columns import BigintColumn
from delivery.storage.lanes import Lane, job_lane, run_job
from queues.definitions import QueueRecord

pytestmark = pytest.mark.django_db(transaction=True)

DEFINE = """
    INSERT INTO queues_queue (name, tags, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max, changed_at)
    VALUES ('orders', '{eu}', 300, 0, 1, 0, now() - interval '30 minutes')
"""
DEFINE_NOW = """
    INSERT INTO queues_queue (name, tags, heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max)
    VALUES ('of another node', '{}', 300, 0, 1, 0)
"""
PAUSE = "UPDATE queues_queue SET paused = true, changed_at = clock_timestamp()"


@asynccontextmanager
async def running(lane: Lane) -> AsyncIterator[Lane]:
    task = asyncio.create_task(lane.run())
    await lane.connected.wait()
    yield lane
    task.cancel()


@pytest.fixture
async def jobs() -> AsyncIterator[Lane]:
    async with running(job_lane("jobs of a test")) as lane:
        yield lane


@pytest.fixture
async def directory() -> AsyncIterator[Directory]:
    async with running(queue_lane()) as lane:
        yield Directory(lane, announce=lambda queue, nodes, done: done(), changed=lambda queue_id: None)


async def resolve(directory: Directory, name: str, match: Match = "strict") -> list[QueueRecord]:
    resolved: asyncio.Future[list[QueueRecord]] = asyncio.get_running_loop().create_future()
    directory.resolve(name, (), match, resolved.set_result, resolved.set_exception)
    return await resolved


async def test_a_node_that_was_silent_learns_all_that_was_defined_meanwhile(
    jobs: Lane, directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await resolve(directory, "orders") == []
    joined: list[QueueRecord] = []
    directory.watch("orders", (), "strict", joined.append)
    await run_job(jobs, directory.refresh)

    an_hour_later = time.monotonic() + 3600
    monkeypatch.setattr(
        "delivery.engine.queues.time", SimpleNamespace(monotonic=lambda: an_hour_later, perf_counter=time.perf_counter)
    )
    await run_job(jobs, lambda connection: connection.execute(DEFINE))
    await run_job(jobs, directory.refresh)
    assert [queue.tags for queue in joined] == [("eu",)]


async def test_many_names_are_looked_up_in_few_statements(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, each name was a job of its own, and whoever came to the node waited behind all of them."""
    statements = 0
    named = lookups._named

    async def counted(connection: AsyncConnection[Any], names: Any) -> list[QueueRecord]:
        nonlocal statements
        statements += 1
        return await named(connection, names)

    monkeypatch.setattr(lookups, "_named", counted)
    found = await asyncio.gather(*(resolve(directory, f"unknown-{number}") for number in range(1000)))
    assert found == [[]] * 1000
    assert statements <= 1000 / lookups.BATCH_SIZE + 2


async def test_what_waited_for_a_queue_that_is_refused_is_not_kept(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a post of megabytes. Without the collector, which comes seldom, a cycle would keep it."""

    class Waiting:
        def found(self, queues: list[QueueRecord]) -> None: ...

    async def refused(waiting: Waiting) -> WillowError:
        failed: asyncio.Future[WillowError] = asyncio.get_running_loop().create_future()
        directory.resolve("one-too-many", (), "exact", waiting.found, failed.set_result)
        return await failed

    monkeypatch.setattr(settings, "WILLOW", replace(settings.WILLOW, max_queue_count=0))
    waiting = Waiting()
    gone = weakref.ref(waiting)
    gc.disable()
    try:
        error = await refused(waiting)
        del waiting
        await resolve(directory, "another")
        assert error.code == Code.OVERLOADED
        assert gone() is None
    finally:
        gc.enable()


async def test_queues_made_together_are_each_what_was_asked_for(directory: Directory) -> None:
    made = await asyncio.gather(*(resolve(directory, f"new-{number}", "exact") for number in range(100)))
    assert [queue.name for [queue] in made] == [f"new-{number}" for number in range(100)]


async def test_the_collector_never_has_many_new_queues_to_look_at(directory: Directory) -> None:
    """Queues stay. By itself it would come after 25,000 objects, and stop the event loop for 15 ms."""
    rounds: list[int] = []

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            rounds.append(gc.get_count()[0])

    gc.collect()
    threshold = gc.get_threshold()
    gc.set_threshold(1_000_000)
    gc.callbacks.append(noted)
    try:
        for begin in range(0, 1000, 50):
            await asyncio.gather(*(resolve(directory, f"new-{n}", "exact") for n in range(begin, begin + 50)))
    finally:
        gc.callbacks.remove(noted)
        gc.set_threshold(*threshold)
    assert rounds and max(rounds) < 4 * YOUNG_OBJECTS


async def test_whoever_asks_for_many_queues_leaves_the_storage_to_others_between_batches() -> None:
    """What a lane that rests does is tested with the lanes."""
    assert {Lookup, Definition} <= set(queue_lane()._rests)


async def test_lists_of_queues_share_what_they_name(directory: Directory) -> None:
    """Each of a hundred lists of thousands of queues would have objects of its own, and take as long to be let go."""
    [queue] = await resolve(directory, "listed", "exact")
    identity = directory.identity_of(queue)
    assert (identity.name, identity.tags, identity.shard) == (queue.name, queue.tags, queue.id)
    assert directory.identity_of(queue) is identity
    directory.forget(queue.id)
    assert directory.identity_of(queue) is not identity, "it was kept for a queue that is gone"


async def test_names_without_queues_are_forgotten_and_queues_are_not(directory: Directory) -> None:
    """Anybody can ask for names: what a node remembers of them is bounded."""
    [known] = await resolve(directory, "known", "exact")
    for begin in range(0, MOST_NAMES_WITHOUT_QUEUES + 2000, 2000):
        await asyncio.gather(*(resolve(directory, f"unknown-{number}") for number in range(begin, begin + 2000)))
    assert len(directory._by_name) <= MOST_NAMES_WITHOUT_QUEUES + 1
    assert directory.known("known", ()) == known


async def test_what_was_seen_as_it_is_is_not_read_again(
    jobs: Lane, directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll looks back for seconds, and others may define thousands of queues in them."""
    [own] = await resolve(directory, "own", "exact")
    await run_job(jobs, lambda connection: connection.execute(DEFINE_NOW))
    read: list[str] = []
    hear_of = Directory._hear_of

    def heard(self: Directory, row: Any) -> None:
        read.append(row["name"])
        hear_of(self, row)

    monkeypatch.setattr(Directory, "_hear_of", heard)
    await run_job(jobs, directory.refresh)
    assert read == ["of another node"], "its own it has seen when it made it"
    await run_job(jobs, directory.refresh)
    assert read == ["of another node"]

    await run_job(jobs, lambda connection: connection.execute(PAUSE))
    await run_job(jobs, directory.refresh)
    assert sorted(read) == ["of another node", "of another node", "own"]
    known = directory.by_id(own.id)
    assert known is not None and known.paused


async def test_a_queue_that_is_looked_up_meanwhile_is_read_again(
    jobs: Lane, directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer may be from before the queue was made; a refresh that saw it then must not be the last."""
    named = lookups._named

    async def late(connection: AsyncConnection[Any], names: Any) -> list[QueueRecord]:
        found = await named(connection, names)
        await run_job(jobs, lambda connection: connection.execute(DEFINE_NOW))
        await run_job(jobs, directory.refresh)
        return found

    monkeypatch.setattr(lookups, "_named", late)
    assert await resolve(directory, "of another node") == []
    await run_job(jobs, directory.refresh)
    assert [queue.name for queue in await resolve(directory, "of another node", "all")] == ["of another node"]


def test_of_what_was_seen_the_oldest_goes_and_old_changes_are_not_kept() -> None:
    """What is not read anyway must not fill a statement, nor take the loop when it goes."""
    seen, now = SeenLately(), datetime.now(UTC)
    for number in range(1000):
        seen.add(number, now)
    seen.add(1000, now - timedelta(days=1))
    assert len(seen.columns()["queue_id"].packed) == len(BigintColumn(list(range(1000))).packed)
    assert BigintColumn(list(range(1000))).packed == seen.columns()["queue_id"].packed
    seen.drop(7)
    seen.drop_before(time.monotonic())
    assert not seen._seen_at and not seen._numbers and not seen._changes
