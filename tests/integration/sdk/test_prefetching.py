"""Messages that came and were not begun: kept alive while they wait, and given back without an attempt spent."""

import asyncio
from typing import Any

import pytest
import willow_client
from willow_client import ClaimLost, Client, Message
from willow_client.timetable import Timetable

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, Cluster
from tests.support.keepalives import Keepalives
from tests.support.proxy import Proxy

JOBS = 20


async def attempts_of_all(client: Client, queue: str, count: int) -> list[int]:
    """How often each message has been handed out, this time included. They are all ready."""
    messages = await client.fetch_many(queue, 1000)
    assert len(messages) == count
    attempts = [message.attempt for message in messages]
    await asyncio.gather(*(message.release() for message in messages))
    return attempts


async def in_flight(cluster: Cluster, queue: str) -> int:
    ((claimed,),) = cluster.query(
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id"
        " WHERE q.name = %s AND m.holder IS NOT NULL",
        queue,
    )
    return int(claimed)


async def nothing_is_held(cluster: Cluster, queue: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while await in_flight(cluster, queue):
            await asyncio.sleep(LOOK_SECONDS)


async def test_restarts_cost_no_attempts_of_what_was_not_begun(broker: Cluster, client: Client, queue: str) -> None:
    await client.post_many(queue, map(str, range(JOBS)))
    for _ in range(4):
        async with willow_client.connect(broker.node.url) as worker:
            message = await anext(worker.subscribe(queue))
            await message.finish()
    assert await attempts_of_all(client, queue, JOBS - 4) == [1] * (JOBS - 4)


async def test_a_closed_client_gives_back_what_nobody_looked_at(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_many(queue, map(str, range(6)))
    async with willow_client.connect(broker.node.url) as leaving:
        messages = await leaving.fetch_many(queue, 5)
        await messages[0].finish()
        assert messages[1].text == "1"
        assert "2" in repr(messages[2])  # which is no look
        async with asyncio.timeout(PATIENCE):
            await leaving.close()
    await nothing_is_held(broker, queue)  # what it had begun fails when the broker notes that it has gone
    again = {message.text: message.attempt for message in await client.fetch_many(queue, 10)}
    assert again == {"1": 2, "2": 1, "3": 1, "4": 1, "5": 1}


async def test_a_closed_subscription_gives_back_in_place(client: Client, other: Client, queue: str) -> None:
    await client.post_many(queue, ["0", "1", "2"])
    async with client.subscribe(queue, in_flight=3) as messages:
        first = await anext(messages)
        await first.finish()
    assert [message.text for message in await other.fetch_many(queue, 3)] == ["1", "2"]


async def test_a_loop_that_is_left_gives_back(broker: Cluster, client: Client, queue: str) -> None:
    await client.post_many(queue, map(str, range(10)))
    async for message in client.subscribe(queue, in_flight=10):
        await message.finish()
        break
    await nothing_is_held(broker, queue)
    assert await attempts_of_all(client, queue, 9) == [1] * 9


async def test_a_loop_inside_async_with_may_be_left_and_taken_up_again(client: Client, queue: str) -> None:
    await client.post_many(queue, ["0", "1"])
    seen = []
    async with client.subscribe(queue) as messages:
        for _ in range(2):
            async for message in messages:
                seen.append(message.text)
                await message.finish()
                break
    assert seen == ["0", "1"]


async def test_what_waits_is_kept_alive(
    broker: Cluster, client: Client, other: Client, queue: str, keepalives: Keepalives
) -> None:
    shard = (await client.create(queue, heartbeat_timeout=keepalives.LEASE_SECONDS)).shard
    await client.post_many(queue, ["0", "1", "2"])
    async with client.subscribe(queue, in_flight=3) as messages:
        first = await anext(messages)
        while messages.prefetched < 2:
            await asyncio.sleep(LOOK_SECONDS)
        before = _lease_ends(broker, shard)
        await keepalives.wait_for(6)  # one or two for each
        await other.fetch(queue)
        await client.fetch(queue)  # goes the same way, behind them
        assert all(now > then for now, then in zip(_lease_ends(broker, shard), before, strict=True))
        await first.finish()
        for _ in range(2):
            message = await anext(messages)
            assert message.attempt == 1
            await message.finish()
    assert await other.fetch(queue) is None


async def test_messages_are_kept_alive_as_often_as_their_own_time_asks(
    client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times in it, whether the queue or the fetch says how long it is."""
    intervals: list[float] = []
    monkeypatch.setattr(Timetable, "put", lambda self, seconds, key: intervals.append(seconds))
    await client.create(queue, heartbeat_timeout=45)
    await client.post_many(queue, ["0", "1"], timeout=None)
    for work_timeout in (None, 6):
        message = await client.fetch(queue, work_timeout=work_timeout, timeout=None)
        assert message is not None and message.work_timeout == (work_timeout or 45)
        await message.finish(timeout=None)
    assert [seconds for seconds in intervals if seconds != client.options.timeout] == [15, 2]


async def test_a_message_that_nobody_refers_to_is_not_kept_alive(
    client: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    await client.post(queue, "m")
    await client.fetch(queue, work_timeout=0.3)
    again = await client.fetch(queue, block_timeout=PATIENCE)
    assert again is not None and again.attempt == 2
    assert "neither finished, failed nor released" in caplog.text
    await again.finish()


async def test_a_lost_claim_cancels_the_work(
    broker: Cluster, client: Client, queue: str, keepalives: Keepalives
) -> None:
    await client.create(queue, heartbeat_timeout=keepalives.LEASE_SECONDS)
    await client.post(queue, "m")
    message = await client.fetch(queue)
    assert message is not None
    with pytest.raises(ClaimLost):
        async with client.working(message):
            _take_away(broker, message)
            await asyncio.Event().wait()
    assert not message.is_held


async def test_a_late_finish_of_an_earlier_attempt_ends_nothing(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    first = await client.fetch(queue)
    assert first is not None
    await first.fail("once more")
    second = await client.fetch(queue, block_timeout=PATIENCE)
    assert second is not None and second.attempt == 2
    with pytest.raises(ClaimLost):
        await first.finish()
    await second.finish()


def _lease_ends(cluster: Cluster, shard: int) -> list[tuple[Any, ...]]:
    return cluster.query("SELECT lease_until FROM delivery_message WHERE queue_id = %s ORDER BY index", shard)


def _take_away(cluster: Cluster, message: Message) -> None:
    """As if its time had run out, and another client had been given it."""
    cluster.query(
        "UPDATE delivery_message SET attempts = attempts + 1, lease_until = now() + interval '1 hour'"
        " WHERE queue_id = %s AND sequence = %s",
        message.shard,
        message.sequence,
    )


async def test_a_subscription_takes_more_or_fewer_while_it_runs(broker: Cluster, client: Client, queue: str) -> None:
    await client.post_many(queue, map(str, range(JOBS)))
    async with asyncio.timeout(PATIENCE), client.subscribe(queue, in_flight=1) as messages:
        held = [await anext(messages)]
        messages.set_in_flight(4)
        held += [await anext(messages) for _ in range(3)]
        messages.set_in_flight(2)
        for message in held[:3]:
            await message.finish()
        held.append(await anext(messages))
        assert await in_flight(broker, queue) == 2


async def test_what_a_subscription_takes_outlasts_a_lost_connection(proxy: Proxy, client: Client, queue: str) -> None:
    await client.post_many(queue, map(str, range(JOBS)))
    async with (
        asyncio.timeout(PATIENCE),
        willow_client.connect(proxy.url, hold=PATIENCE) as reader,
        reader.subscribe(queue, in_flight=1) as messages,
    ):
        held = [await anext(messages)]
        proxy.reset()
        messages.set_in_flight(4)
        held += [await anext(messages) for _ in range(3)]


async def test_each_message_wakes_one_of_those_who_wait_for_one(client: Client, queue: str) -> None:
    """Also if that one has been cancelled meanwhile."""
    async with asyncio.timeout(PATIENCE), client.subscribe(queue) as messages:
        waiting = [asyncio.ensure_future(anext(messages)) for _ in range(3)]
        await client.post(queue, "first")
        done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        waiting = [task for task in waiting if task in left]
        waiting[0].cancel()
        await client.post(queue, "second")
        assert (await waiting[1]).text == "second"
        for task in (*done, waiting[1]):
            await task.result().finish()
