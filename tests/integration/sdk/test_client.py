"""The Python client against real brokers."""

import asyncio
import random
import signal
from typing import Any

import pytest
import willow_client
from willow_client import Client, ConnectionFailed, ConnectionLost, Message, WillowError

from tests.support.cluster import PATIENCE, THROUGH_RESTARTS, Cluster
from tests.support.keepalives import Keepalives

NOT_UTF8 = bytes(range(256))


async def fetched(client: Client, queue: str, **how: Any) -> Message:
    message = await client.fetch(queue, block_timeout=PATIENCE, **how)
    assert message is not None
    return message


def lease_end(cluster: Cluster, message: Message) -> Any:
    ((end,),) = cluster.query("SELECT lease_until FROM delivery_message WHERE queue_id = %s", message.shard)
    return end


# posting


async def test_a_post_returns_where_the_message_was_stored(client: Client, queue: str) -> None:
    first, second = await client.post(queue, "1"), await client.post(queue, "2")
    assert (first.queue, first.index, second.index) == (queue, 1, 2)
    message = await fetched(client, queue)
    assert (message.shard, message.sequence, message.index) == (first.shard, first.sequence, 1)


async def test_a_post_that_waits_for_nothing_has_no_receipt(client: Client, queue: str) -> None:
    assert await client.post(queue, "m", wait=None) is None
    assert (await fetched(client, queue)).text == "m"


async def test_everything_that_a_post_can_say(client: Client, queue: str) -> None:
    await client.create(queue, tags=["a"], updatable=True)
    await client.post(queue, "old", tags=["a"], key="k")
    await client.post(queue, "new", tags=["a"], key="k", priority=7, ttl=60)
    once = await client.post(queue, "once", tags=["a"], dedupe="d")
    again = await client.post(queue, "again", tags=["a"], dedupe="d")
    assert once == again
    await client.post(queue, "later", tags=["a"], delay=60)
    messages = await client.fetch_many(queue, 10, tags=["a"])
    assert [(message.text, message.priority, message.tags) for message in messages] == [
        ("new", 7, ("a",)),
        ("once", 0, ("a",)),
    ]


async def test_a_post_to_several_queues_returns_a_receipt_for_each(client: Client, queue: str) -> None:
    names = [queue, f"{queue}-2"]
    receipts = await client.post_to_all(names, "m")
    assert list(receipts) == names
    for name in names:
        message = await fetched(client, name)
        assert (message.shard, message.index) == (receipts[name].shard, receipts[name].index)


async def test_bodies_are_bytes(client: Client, queue: str) -> None:
    await client.post(queue, NOT_UTF8)
    await client.post(queue, "grüße")
    assert (await fetched(client, queue)).body == NOT_UTF8
    assert (await fetched(client, queue)).body == "grüße".encode()


async def test_commands_of_one_turn_share_a_text(client: Client, queue: str, texts_sent: list[bytes]) -> None:
    receipts = await asyncio.gather(*(client.post(queue, str(number)) for number in range(50)))
    assert len(texts_sent) == 1
    assert [receipt.index for receipt in receipts if receipt] == list(range(1, 51))


async def test_without_batches_each_command_has_a_text_of_its_own(
    broker: Cluster, queue: str, texts_sent: list[bytes]
) -> None:
    async with willow_client.connect(broker.node.url, batch=False) as client:
        await asyncio.gather(*(client.post(queue, "m") for _ in range(3)))
        assert len(texts_sent) == 3
        assert len(await client.fetch_many(queue, 2)) == 2


async def test_large_bodies_are_spread_over_texts(client: Client, queue: str, texts_sent: list[bytes]) -> None:
    body = "x" * 400_000
    await asyncio.gather(*(client.post(queue, body) for _ in range(5)))
    assert len(texts_sent) == 3
    assert [message.text == body for message in await client.fetch_many(queue, 5)] == [True] * 5


async def test_a_flood_of_posts_that_wait_for_nothing_is_held_back(client: Client, queue: str) -> None:
    body = "x" * 100_000
    for _ in range(200):
        await client.post(queue, body, wait=None)
    assert await client.post(queue, "last") is not None
    assert sum([len(await client.pop_many(queue, 50)) for _ in range(5)]) == 201


# taking


async def test_an_empty_queue_gives_none(client: Client, queue: str) -> None:
    assert await client.fetch(queue) is None
    assert await client.fetch(queue, block_timeout=0.05) is None
    assert await client.fetch_many(queue, 5) == []
    assert await client.pop(queue) is None
    assert await client.pop_many(queue, 5) == []


async def test_a_finished_message_has_gone(client: Client, other: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await fetched(client, queue)
    assert (message.text, message.queue, message.attempt, message.index) == ("m", queue, 1, 1)
    await message.finish()
    assert await other.fetch(queue) is None


async def test_a_waiting_fetch_gets_what_is_posted_later(client: Client, other: Client, queue: str) -> None:
    waiting = asyncio.ensure_future(fetched(client, queue))
    await client.fetch(queue)  # goes the same way, behind it
    await other.post(queue, "m")
    assert (await waiting).text == "m"


async def test_several_messages_at_once(client: Client, queue: str) -> None:
    await asyncio.gather(*(client.post(queue, str(number)) for number in range(5)))
    assert [message.text for message in await client.fetch_many(queue, 3)] == ["0", "1", "2"]
    assert [message.text for message in await client.pop_many(queue, 3)] == ["3", "4"]


async def test_a_popped_message_has_gone(client: Client, other: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.pop(queue, block_timeout=PATIENCE)
    assert message is not None and message.text == "m"
    assert await other.fetch(queue) is None


async def test_a_failed_message_comes_again(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    await (await fetched(client, queue)).fail("no luck", delay=0)
    message = await fetched(client, queue)
    assert message.attempt == 2
    ((error,),) = broker.query("SELECT error FROM delivery_journal WHERE queue_id = %s", message.shard)
    assert error == "no luck"


async def test_a_keepalive_starts_the_time_again(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await fetched(client, queue, work_timeout=60)
    before = lease_end(broker, message)
    await message.keepalive()
    assert lease_end(broker, message) > before


async def test_a_refusal_is_an_exception_with_its_code(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await fetched(client, queue)
    await message.finish()
    with pytest.raises(WillowError) as refusal:
        await message.finish()
    assert (refusal.value.code, refusal.value.key) == ("NoObject", f"{message.shard}/{message.sequence}")


async def test_a_cancelled_fetch_gives_its_message_back(client: Client, other: Client, queue: str) -> None:
    waiting = asyncio.ensure_future(client.fetch(queue, block_timeout=PATIENCE))
    await client.fetch(queue)  # goes the same way, behind it
    waiting.cancel()
    await other.post(queue, "m")
    message = await fetched(other, queue)
    assert (message.text, message.attempt) == ("m", 1)


# working


async def test_work_that_succeeds_finishes_its_message(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    async with client.working(await fetched(client, queue)) as work:
        assert work.message.text == "m"
        shard = work.message.shard
    assert broker.query("SELECT outcome FROM delivery_journal WHERE queue_id = %s", shard) == [("finished",)]


async def test_work_that_raises_fails_its_message(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    with pytest.raises(ZeroDivisionError):
        async with client.working(await fetched(client, queue)):
            _ = 1 / 0
    message = await fetched(client, queue)
    assert message.attempt == 2
    ((error,),) = broker.query("SELECT error FROM delivery_journal WHERE queue_id = %s", message.shard)
    assert error == "ZeroDivisionError: division by zero"


async def test_long_work_is_kept_alive(broker: Cluster, client: Client, queue: str, keepalives: Keepalives) -> None:
    await client.post(queue, "m")
    message = await fetched(client, queue, work_timeout=keepalives.LEASE_SECONDS)
    before = lease_end(broker, message)
    async with client.working(message):
        await keepalives.wait_for(5)
        await client.fetch(queue)  # goes the same way, behind them
        assert lease_end(broker, message) > before
    ended = "SELECT outcome, attempt FROM delivery_journal WHERE queue_id = %s"
    assert broker.query(ended, message.shard) == [("finished", 1)]


# queues, subscriptions, names


async def test_a_queue_is_created_once(client: Client, queue: str) -> None:
    created = await client.create(queue, tags=["b", "a"], retry_limit=5)
    assert (created.created, created.name, created.tags, created.retry_limit) == (True, queue, ("a", "b"), 5)
    assert not (await client.create(queue, tags=["a", "b"])).created


async def test_a_subscription_brings_what_comes(client: Client, other: Client, queue: str) -> None:
    async with client.subscribe(queue, in_flight=2) as messages:
        await asyncio.gather(*(other.post(queue, str(number)) for number in range(5)))
        seen = []
        async for message in messages:
            seen.append(message.text)
            await message.finish()
            if len(seen) == 5:
                break
    assert seen == ["0", "1", "2", "3", "4"]


async def test_a_subscription_that_ends_gives_back_what_nobody_looked_at(
    client: Client, other: Client, queue: str
) -> None:
    await asyncio.gather(*(client.post(queue, str(number)) for number in range(3)))
    async with client.subscribe(queue, in_flight=3) as messages:
        first = await anext(messages)
    assert sorted([(await fetched(other, queue)).text for _ in range(2)]) == ["1", "2"]
    await first.finish()


async def test_a_refused_subscription_raises(client: Client, queue: str) -> None:
    await client.create(queue, kind="stream")
    with pytest.raises(WillowError):
        await anext(client.subscribe(queue))


async def test_a_registered_client_reads_a_stream(client: Client, queue: str, name: str) -> None:
    registration = await client.register(name, persistent=True)
    assert (registration.name, registration.persistent) == (name, True)
    await client.create(queue, kind="stream")
    await client.post(queue, "m")
    async with client.subscribe(queue, start="oldest") as messages:
        message = await anext(messages)
        assert message.text == "m"
        await message.finish()


# connections


async def test_an_unknown_key_is_refused(broker: Cluster) -> None:
    with pytest.raises(WillowError) as refusal:
        async with willow_client.connect(broker.node.url, token="nobody's"):
            pass
    assert refusal.value.code == "PermissionDenied", refusal.value


async def test_a_broker_that_is_not_there_cannot_be_connected_to() -> None:
    with pytest.raises(ConnectionFailed):
        async with willow_client.connect("ws://127.0.0.1:1/connect/"):
            pass


async def test_a_closed_client_refuses_commands(broker: Cluster, queue: str) -> None:
    async with willow_client.connect(broker.node.url) as client:
        waiting = asyncio.ensure_future(client.fetch(queue, block_timeout=PATIENCE))
        await client.fetch(queue)
    for command in (waiting, client.post(queue, "m"), client.post(queue, "m", wait=None)):
        with pytest.raises(ConnectionLost):
            await command


async def test_claims_and_waiting_fetches_survive_a_restart(own_cluster: Cluster, queue: str) -> None:
    node = own_cluster.node
    async with willow_client.connect(node.url, hold=THROUGH_RESTARTS, timeout=THROUGH_RESTARTS) as client:
        await client.post(queue, "held")
        held = await fetched(client, queue)
        waiting = asyncio.ensure_future(client.fetch(queue, block_timeout=THROUGH_RESTARTS))
        node.kill()
        finished = asyncio.ensure_future(held.finish())
        node.start()
        await finished
        await client.post(queue, "next")
        message = await waiting
        assert message is not None and message.text == "next"


async def test_a_subscription_goes_on_after_a_restart(own_cluster: Cluster, queue: str) -> None:
    node = own_cluster.node
    async with (
        willow_client.connect(node.url, timeout=THROUGH_RESTARTS) as client,
        client.subscribe(queue) as messages,
    ):
        node.kill()
        node.start()
        await client.post(queue, "m", dedupe="d")  # may be on its way to the dead node, and is repeated then
        assert (await anext(messages)).text == "m"


async def test_what_was_under_way_when_the_connection_broke(
    own_cluster: Cluster, queue: str, texts_sent: list[bytes]
) -> None:
    """A post may have been stored or not: it is sent again and stored once, unless the client may not repeat it."""
    node = own_cluster.node
    async with (
        willow_client.connect(node.url, timeout=THROUGH_RESTARTS) as client,
        willow_client.connect(node.url, timeout=THROUGH_RESTARTS, repeat_posts=False) as careless,
    ):
        await client.create(queue)
        node.send(signal.SIGSTOP)
        unsure = asyncio.ensure_future(careless.post(queue, "unsure"))
        repeated = asyncio.ensure_future(client.post(queue, "repeated"))
        while sum(b'"post"' in text for text in texts_sent) < 2:
            await asyncio.sleep(0)
        node.kill()
        with pytest.raises(ConnectionLost):
            await unsure
        node.start()
        assert (await repeated).index == 1


async def test_clients_of_programs_with_the_same_seed_post_different_messages(broker: Cluster, queue: str) -> None:
    for body in ("first", "second"):
        random.seed(42)
        async with willow_client.connect(broker.node.url) as client:
            assert not (await client.post(queue, body)).duplicate
