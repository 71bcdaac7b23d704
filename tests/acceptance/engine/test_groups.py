"""Groups: order and bound of each, over all clients and nodes, through all that can happen to their messages."""

import asyncio

import pytest

from delivery.inspection.filters import MessageFilter
from delivery.operating.messages import messages_drop, messages_move, messages_set_priority
from delivery.operating.queues import queue_change
from delivery.operating.redrive_jobs import redrive_start
from queues.models import Queue
from tests.support.client import LOOK_SECONDS, Client, Fields
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from tests.support.operators import OPERATOR, Operators, operators

__all__ = ["operators"]


@pytest.fixture
async def clients(three_nodes: Cluster, connect: Connect) -> list[Client]:
    """One on each of three nodes."""
    return [await connect(node) for node in three_nodes.nodes]


async def bodies(client: Client, queue: str, count: int) -> list[str]:
    return [message["body"] for message in await client.fetch_all(queue, count, block_timeout=PATIENCE)]


async def next_one(client: Client, queue: str, **fields: object) -> Fields:
    return await client.fetch(queue, block_timeout=PATIENCE, **fields)


async def test_a_group_goes_one_after_the_other_and_others_are_not_held_back(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, group_in_flight=1)
    await clients[0].post_all(queue, ["g1", "g2", "g3"], group="g")
    await clients[1].post_all(queue, ["h1", "h2"], group="h")
    await clients[2].post_all(queue, ["alone", "free"])
    first = await clients[1].fetch(queue)
    assert (first["body"], first["group"]) == ("g1", "g")
    assert await bodies(clients[2], queue, 3) == ["h1", "alone", "free"]
    await clients[0].finds_nothing(queue)
    waiting = await clients[0].begin("fetch", queue, block_timeout=PATIENCE)
    await clients[1].finish(first)
    second = await clients[0].expect(waiting, type="message", body="g2")
    await clients[1].finds_nothing(queue)
    await clients[0].finish(second)
    await clients[2].finish(await next_one(clients[2], queue))
    await clients[2].finds_nothing(queue)


async def test_as_many_of_a_group_go_as_may(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, group_in_flight=2)
    await clients[0].post_all(queue, ["1", "2", "3", "4"], group="g")
    held = await clients[1].fetch_all(queue, 2)
    await clients[2].finds_nothing(queue)
    await clients[1].finish(held[1])
    assert (await next_one(clients[2], queue))["body"] == "3"
    await clients[2].finds_nothing(queue)


async def test_a_failed_one_is_tried_before_its_followers_which_wait_through_its_delay(
    clients: list[Client], queue: str
) -> None:
    await clients[0].create(queue, group_in_flight=1, retry_limit=3)
    await clients[0].post_all(queue, ["1", "2"], group="g")
    await clients[1].fail(await clients[1].fetch(queue), delay=300)
    await clients[2].finds_nothing(queue)
    await clients[0].post(queue, "urgent", group="g", priority=9)
    await clients[2].finds_nothing(queue)
    await clients[0].post_all(queue, ["1", "2"], group="other")
    message = await clients[1].fetch(queue)
    assert message["group"] == "other"
    await clients[1].fail(message, delay=0.2)
    again = await next_one(clients[2], queue)
    assert (again["index"], again["attempt"]) == (message["index"], 2)


async def test_when_one_is_dead_its_followers_go_on(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, group_in_flight=1, retry_limit=1)
    await clients[0].post_all(queue, ["1", "2"], group="g")
    await clients[1].fail(await clients[1].fetch(queue))
    assert (await next_one(clients[2], queue))["body"] == "2"
    dead = await next_one(clients[2], f"{queue}.dead")
    assert (dead["body"], dead["group"]) == ("1", "g")


# What time does to the first message of a queue. To wait for it would be a race with what the test does meanwhile.
TIME_IS_OVER = {
    "timeout": "UPDATE delivery_message SET lease_until = now() WHERE queue_id = %s AND index = 1",
    "expired": "UPDATE delivery_message SET expires_at = now() WHERE queue_id = %s AND index = 1",
    "due": "UPDATE delivery_message SET available_at = now() WHERE queue_id = %s AND index = 1",
}


@pytest.mark.parametrize("ending", ["disconnect", "timeout", "release", "expired", "cancel", "popped"])
async def test_however_the_first_goes_the_next_one_follows(
    clients: list[Client], connect: Connect, three_nodes: Cluster, queue: str, ending: str
) -> None:
    await clients[0].create(queue, group_in_flight=1, retry_limit=9)
    first = await clients[0].post(queue, "1", group="g", **({"ttl": 3600} if ending == "expired" else {}))
    await clients[0].post(queue, "2", group="g")
    expected = "1"
    if ending in ("disconnect", "timeout", "release", "expired"):
        holder = await connect(three_nodes.nodes[1])
        message = await holder.fetch(queue)
        await clients[2].finds_nothing(queue)
        if ending == "disconnect":
            await holder.close()
        elif ending == "release":
            await holder.begin("release", queue, **{key: message[key] for key in ("sequence", "shard", "index")})
        else:
            three_nodes.query(TIME_IS_OVER[ending], first["shard"])
            expected = "2" if ending == "expired" else "1"
    elif ending == "cancel":
        label = await clients[0].begin("cancel", queue, shard=first["shard"], index=first["index"])
        await clients[0].expect(label, notice="write")
        expected = "2"
    else:
        assert (await clients[1].pop(queue))["body"] == "1"
        expected = "2"
    assert (await next_one(clients[2], queue))["body"] == expected
    await clients[1].finds_nothing(queue)


async def test_a_client_that_comes_back_to_another_node_lets_the_next_one_go(
    three_nodes: Cluster, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    """To a node that has never heard of the queue."""
    holder = await connect(three_nodes.nodes[0], hold=PATIENCE)
    await holder.create(queue, group_in_flight=1)
    await holder.post_all(queue, ["1", "2", "3"], group="g")
    first = await holder.fetch(queue)
    await holder.close()
    back = await connect_when_available(three_nodes.nodes[1], id=holder.id)
    await back.finish(first)
    reader = await connect(three_nodes.nodes[2])
    assert (await next_one(reader, queue))["body"] == "2"
    await reader.finds_nothing(queue)


async def test_pops_wait_for_nobody_of_a_group(client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=1)
    await client.post_all(queue, ["1", "2"], group="g")
    await client.post(queue, "other", group="h")
    await client.post(queue, "3", group="g")
    held = await client.fetch(queue)
    assert [(await client.pop(queue))["body"] for _ in range(3)] == ["2", "other", "3"]
    await client.finish(held)
    await client.finds_nothing(queue)


async def test_priority_goes_before_age(client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=1)
    await client.post_all(queue, ["old", "older"], group="g")
    await client.post(queue, "urgent", group="g", priority=5)
    for expected in ("urgent", "old", "older"):
        message = await next_one(client, queue)
        assert message["body"] == expected
        await client.finish(message)


async def test_delayed_ones_join_their_group_when_they_are_due(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=1)
    later = await client.post(queue, "later", group="g", delay=3600)
    await client.post(queue, "now", group="g")
    first = await client.fetch(queue)
    assert first["body"] == "now"
    broker.query(TIME_IS_OVER["due"], later["shard"])
    await client.finish(first)
    assert (await next_one(client, queue))["body"] == "later"


async def test_a_replaced_message_may_change_its_group(client: Client, queue: str) -> None:
    await client.create(queue, group_in_flight=1, updatable=True)
    await client.post(queue, "1", group="g", key="a")
    await client.post(queue, "2", group="g", key="b")
    held = await client.fetch(queue)
    await client.post(queue, "moved", group="h", key="b")
    assert (await next_one(client, queue))["body"] == "moved"
    await client.finish(held)
    await client.finds_nothing(queue)


async def test_an_operator_changes_bound_priorities_and_messages(
    client: Client, operators: Operators, broker: Cluster, queue: str
) -> None:
    shard = (await client.create(queue))["shard"]
    await client.post_all(queue, ["1", "2", "3", "4"], group="g")
    await operators.on(broker, _change, queue, 1)
    first = await client.fetch(queue)
    assert first["body"] == "1"
    async with asyncio.timeout(PATIENCE):
        while broker.query("SELECT count(*) FROM delivery_message WHERE queue_id = %s AND state = 4", shard) != [(3,)]:
            await asyncio.sleep(LOOK_SECONDS)
    await client.finds_nothing(queue)
    await operators.on(broker, messages_set_priority, chosen=MessageFilter(queue_ids=(shard,)), priority=7, by=OPERATOR)
    await client.finish(first)
    assert (await next_one(client, queue))["body"] == "2"
    await operators.on(broker, messages_drop, chosen=MessageFilter(queue_ids=(shard,)), by=OPERATOR)
    await client.post(queue, "5", group="g")
    await client.finds_nothing(queue)
    await operators.on(broker, _change, queue, None)
    assert (await next_one(client, queue))["body"] == "5"


async def test_moved_and_redriven_messages_keep_to_their_group_there_and_here(
    client: Client, operators: Operators, broker: Cluster, queue: str
) -> None:
    """Between queues that both bound their groups: who leaves lets the next one go, who comes waits behind others."""
    here = (await client.create(queue, group_in_flight=1, retry_limit=1))["shard"]
    await client.create(f"{queue}-there", group_in_flight=1)
    await client.post_all(queue, ["1", "2", "3"], group="g")
    await client.post(f"{queue}-there", "first", group="g")
    await client.fail(await client.fetch(queue))  # "1" is dead, and "2" may go
    chosen = MessageFilter(queue_ids=(here,), text="2")
    await operators.on(broker, _move, chosen, f"{queue}-there")
    third = await next_one(client, queue)
    assert third["body"] == "3"
    first = await next_one(client, f"{queue}-there")
    assert first["body"] == "first"
    await client.finds_nothing(f"{queue}-there")
    await client.finish(first)
    assert (await next_one(client, f"{queue}-there"))["body"] == "2"
    dead = broker.query("SELECT id FROM queues_queue WHERE name = %s", f"{queue}.dead")[0][0]
    await operators.on(broker, redrive_start, chosen=MessageFilter(queue_ids=(dead,)), by=OPERATOR)
    async with asyncio.timeout(PATIENCE):
        while broker.query("SELECT state FROM delivery_message WHERE queue_id = %s ORDER BY index", here) != [
            (2,),
            (4,),
        ]:
            await asyncio.sleep(LOOK_SECONDS)
    await client.finds_nothing(queue)
    await client.finish(third)
    again = await next_one(client, queue)
    assert (again["body"], again["group"], again["attempt"]) == ("1", "g", 1)


def _move(chosen: MessageFilter, target: str) -> None:
    messages_move(chosen=chosen, target=Queue.objects.get(name=target), by=OPERATOR)


async def test_a_client_sees_what_it_posted_to_a_group_at_once(client: Client, queue: str) -> None:
    """Also where the post takes a look at the queue first: for its `unique` text, or the bound of the queue."""
    await client.create(queue, group_in_flight=1)
    await client.create(f"{queue}-full", group_in_flight=1, max_length=100)
    for name, extras in ((queue, {"dedupe": "d"}), (queue, {"unique": "u"}), (f"{queue}-full", {})):
        await client.post(name, "m", group="g", **extras)
        await client.finish(await client.fetch(name))
        again = await client.post(name, "m", group="g", **extras)
        assert again.get("duplicate", False) is ("dedupe" in extras)
        if "dedupe" not in extras:
            await client.finish(await client.fetch(name))


def _change(queue: str, group_in_flight: int | None) -> None:
    queue_change(queue=Queue.objects.get(name=queue), changes={"group_in_flight": group_in_flight}, by=OPERATOR)
