"""Lanes on a real connection: what they do when PostgreSQL refuses a batch."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from psycopg import AsyncConnection

from delivery.protocol.errors import WillowError
from delivery.storage import lanes
from delivery.storage.after_commit import AfterCommit
from delivery.storage.connection import MOST_TRIES, fetch_batch
from delivery.storage.lanes import RACE_LOST, Lane, RunBatch, job_lane, run_job
from delivery.storage.presence import Presence
from delivery.storage.turns import FIRST
from tests.support.cluster import PATIENCE


class One(NamedTuple):
    one: int


DEADLOCK = "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$"
Lose = Callable[[AsyncConnection[Any]], Awaitable[object]]


class Wish:
    """A request that keeps what it was told."""

    synchronous = True
    source = None
    weight = 0

    def __init__(self) -> None:
        self.answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def fail(self, error: WillowError) -> None:
        self.answered.set_result(error.code)


@asynccontextmanager
async def running_lane(run: RunBatch, rests: Collection[type] = ()) -> AsyncIterator[Lane]:
    lane = Lane("test", {Wish: run}, batch_size=10, rests=rests)
    task = asyncio.create_task(lane.run())
    await lane.connected.wait()
    yield lane
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def ask(lane: Lane) -> str:
    wish = Wish()
    lane.submit(wish)
    return await wish.answered


def answer_all(wishes: list[Wish]) -> AfterCommit:
    return AfterCommit(*(lambda wish=wish: wish.answered.set_result("done") for wish in wishes))


@pytest.mark.parametrize("times", [1, MOST_TRIES - 1])
async def test_a_batch_that_met_a_deadlock_is_tried_again(transactional_db: None, times: int) -> None:
    left = times

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        nonlocal left
        await fetch_batch(connection, "SELECT 1 AS one", {}, One)
        if left:
            left -= 1
            async with connection.transaction():
                await fetch_batch(connection, "SELECT 2 AS one", {}, One)
                await connection.execute(DEADLOCK)
        return answer_all(wishes)

    async with running_lane(run) as lane:
        assert await ask(lane) == "done"
        assert lane.failures[RACE_LOST] == times
        assert await ask(lane) == "done"
        assert lane.connections == 1


async def test_a_batch_that_loses_every_race_is_refused_and_the_lane_goes_on(transactional_db: None) -> None:
    deadlocks = True

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        if deadlocks:
            await connection.execute(DEADLOCK)
        return answer_all(wishes)

    async with running_lane(run) as lane:
        assert await ask(lane) == "Unavailable"
        assert lane.failures[RACE_LOST] == MOST_TRIES
        deadlocks = False
        assert await ask(lane) == "done"


async def roll_back(connection: AsyncConnection[Any]) -> None:
    async with connection.transaction(force_rollback=True):
        await connection.execute("SELECT %(one)s::int", {"one": 1})


async def deallocate_unseen(connection: AsyncConnection[Any]) -> None:
    connection.pgconn.exec_(b"DEALLOCATE ALL")


@pytest.mark.parametrize("lose", [roll_back, deallocate_unseen])
@pytest.mark.parametrize("in_transaction", [False, True])
async def test_a_lane_whose_statements_were_lost_goes_on(
    transactional_db: None, lose: Lose, in_transaction: bool
) -> None:
    loses = False

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        nonlocal loses
        if loses:
            loses = False
            await lose(connection)
        if in_transaction:
            async with connection.transaction():
                await connection.execute("SELECT %(two)s::int", {"two": 2})
                await fetch_batch(connection, "SELECT 1 AS one", {}, One)
        else:
            await connection.execute("SELECT %(two)s::int", {"two": 2})
            await fetch_batch(connection, "SELECT 1 AS one", {}, One)
        return answer_all(wishes)

    async with running_lane(run) as lane:
        assert await ask(lane) == "done"
        loses = True
        assert await ask(lane) == "done"
        assert await ask(lane) == "done"
        assert lane.connections == 1


SLEEP = "SELECT pg_sleep(3600)"
WAKE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = %s AND pid <> pg_backend_pid()"


async def test_a_server_that_answers_nothing_is_given_up_and_everybody_is_told(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was cut off without a word. Whoever waits behind it is told, too."""
    monkeypatch.setattr(lanes, "SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(lanes, "WATCH_SECONDS", 0.02)
    asleep = asyncio.Event()

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        if not asleep.is_set():
            asleep.set()
            await connection.execute(SLEEP)
        await connection.execute(WAKE, [SLEEP])
        return answer_all(wishes)

    async with running_lane(run) as lane:
        first = asyncio.create_task(ask(lane))
        await asleep.wait()
        assert await ask(lane) == "Unavailable"
        assert await first == "Unavailable"
        monkeypatch.setattr(lanes, "SILENCE_SECONDS", PATIENCE)  # from here on the server only may be slow
        await lane.connected.wait()
        assert await ask(lane) == "done"


async def test_what_waited_behind_a_statement_that_took_too_long_is_refused(transactional_db: None) -> None:
    """Otherwise it would wait for as long again."""
    batches = 0
    asleep = asyncio.Event()

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        nonlocal batches
        batches += 1
        if batches == 1:
            await connection.execute("SET statement_timeout = 500")
            asleep.set()
            await connection.execute(SLEEP)
        return answer_all(wishes)

    async with running_lane(run) as lane:
        first = asyncio.create_task(ask(lane))
        await asleep.wait()
        assert await ask(lane) == "Unavailable"
        assert await first == "Unavailable"
        assert batches == 1
        assert await ask(lane) == "done"


async def test_jobs_of_many_sources_take_turns_and_those_of_the_node_go_first(transactional_db: None) -> None:
    lane, order, let_go = job_lane("test"), list[str](), asyncio.Event()
    serving = asyncio.create_task(lane.run())
    await lane.connected.wait()

    async def wait(connection: AsyncConnection[Any]) -> None:
        await let_go.wait()

    async def ask(source: str) -> None:
        async def work(connection: AsyncConnection[Any]) -> None:
            order.append(source)

        await run_job(lane, work, source=source)

    sources = ["greedy"] * 3 + ["modest", FIRST]
    asked = [asyncio.create_task(run_job(lane, wait)), *(asyncio.create_task(ask(source)) for source in sources)]
    while lane.waiting < len(sources):
        await asyncio.sleep(0)
    let_go.set()
    await asyncio.gather(*asked)
    assert order == [FIRST, "greedy", "modest", "greedy", "greedy"]
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving


@pytest.mark.parametrize("others_are_there", [True, False])
async def test_a_lane_that_rests_leaves_the_storage_to_others_after_a_long_batch(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, others_are_there: bool
) -> None:
    here, rests = Presence(), list[float]()
    monkeypatch.setattr(lanes, "clients_here", here)
    if others_are_there:
        monkeypatch.setattr(Presence, "is_of_several", True)
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        if seconds:
            rests.append(seconds)
        await sleep(0)

    async def run(connection: AsyncConnection[Any], wishes: list[Wish]) -> AfterCommit:
        await connection.execute("SELECT pg_sleep(%s)", [lanes.LONG_SECONDS])
        return answer_all(wishes)

    async with running_lane(run, rests=(Wish,)) as lane:
        monkeypatch.setattr(lanes, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": noted}))
        assert await ask(lane) == "done"
        assert await ask(lane) == "done"
    taken = [seconds for seconds in rests if seconds < lanes.WATCH_SECONDS]
    assert bool(taken) is others_are_there
    assert all(lanes.LONG_SECONDS <= seconds <= lanes.MOST_REST_SECONDS for seconds in taken)
