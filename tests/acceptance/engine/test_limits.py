"""max_in_flight and rate: never one claim more, however many clients and nodes there are."""

import asyncio
import time

import pytest

from delivery.operating.queues import queue_change
from queues.models import Queue
from tests.support.client import LOOK_SECONDS, Client, Fields
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from tests.support.operators import OPERATOR, Operators, operators
from tests.support.workers import begin_request, working

__all__ = ["operators"]


@pytest.fixture
async def clients(three_nodes: Cluster, connect: Connect) -> list[Client]:
    """One on each of three nodes."""
    return [await connect(node) for node in three_nodes.nodes]


async def change(operators: Operators, cluster: Cluster, queue: str, **changes: object) -> None:
    def make() -> None:
        queue_change(queue=Queue.objects.get(name=queue), changes=changes, by=OPERATOR)

    await operators.on(cluster, make)


async def test_subscriptions_on_all_nodes_share_the_places(clients: list[Client], queue: str) -> None:
    """Each end of a claim lets one more go, wherever its reader waits; and never more are held than may be."""
    held: set[int] = set()
    most = done = 0
    await clients[0].create(queue, max_in_flight=3)

    async def work(client: Client) -> None:
        nonlocal most, done
        label = await client.subscribe(queue, in_flight=16)
        while done < 60:
            message = await client.next(label)
            if message["type"] != "message":
                continue
            held.add(message["index"])
            most = max(most, len(held))
            await asyncio.sleep(0)
            held.discard(message["index"])
            done += 1
            await client.finish(message)

    workers = [asyncio.create_task(work(client)) for client in clients]
    await clients[0].post_all(queue, [str(number) for number in range(60)])
    async with asyncio.timeout(PATIENCE):
        while done < 60:
            await asyncio.sleep(LOOK_SECONDS)
    for worker in workers:
        worker.cancel()
    assert most <= 3


@pytest.mark.parametrize("ending", ["finish", "fail", "delayed", "dead", "release", "disconnect", "timeout"])
async def test_every_end_of_a_claim_frees_its_place(
    clients: list[Client], connect: Connect, three_nodes: Cluster, queue: str, ending: str
) -> None:
    holder = await connect(three_nodes.nodes[1])
    await clients[0].create(queue, max_in_flight=1, retry_limit=1 if ending == "dead" else 9, retry_delay=0)
    await clients[0].post_all(queue, ["a", "b"])
    message = await holder.fetch(queue)
    await clients[2].finds_nothing(queue)
    waiting = await clients[2].begin("fetch", queue, block_timeout=PATIENCE)
    if ending == "finish":
        await holder.finish(message)
    elif ending in ("fail", "dead"):
        await holder.fail(message)
    elif ending == "delayed":
        await holder.fail(message, delay=300)
    elif ending == "release":
        await holder.begin("release", queue, **{key: message[key] for key in ("sequence", "shard", "index")})
    elif ending == "disconnect":
        await holder.close()
    else:  # the time of the claim is over
        three_nodes.query(
            "UPDATE delivery_message SET lease_until = now() WHERE queue_id = %s AND index = %s",
            message["shard"],
            message["index"],
        )
    again = "b" if ending in ("finish", "delayed", "dead") else "a"
    await clients[2].expect(waiting, type="message", body=again)


async def test_fetches_across_queues_keep_to_the_limits_of_each(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, tags=["limited"], max_in_flight=2)
    await clients[0].create(queue, tags=["free"])
    for tags in (["limited"], ["free"]):
        await clients[0].post_all(queue, ["m"] * 5, tags=tags)
    label = await clients[1].begin("fetch", queue, match="all", count=10)
    taken = [await clients[1].expect(label, type="message") for _ in range(7)]
    assert sorted(message["tags"][0] for message in taken) == ["free"] * 5 + ["limited"] * 2
    await clients[2].finds_nothing(queue, match="all")


async def test_services_keep_to_the_limits_of_their_queue(
    clients: list[Client], connect: Connect, three_nodes: Cluster, service: str
) -> None:
    await clients[0].create(f"service:{service}", max_in_flight=1)
    workers = [await working(await connect(node), service, slots=2) for node in three_nodes.nodes[:2]]
    labels = [await begin_request(clients[2], service, body) for body in ("1", "2")]
    request = await workers[0].request(body="1")
    await workers[1].ping()
    await workers[1].client.expect(None, type="pong")
    assert workers[0].client.unread() == workers[1].client.unread() == []
    await workers[0].reply(request, "one")
    await clients[2].expect(labels[0], body="one")
    await workers[1].reply(await workers[1].request(body="2"), "two")
    await clients[2].expect(labels[1], body="two")


async def test_pops_take_no_places(client: Client, queue: str) -> None:
    await client.create(queue, max_in_flight=1)
    await client.post_all(queue, ["a", "b", "c"])
    await client.fetch(queue)
    assert [(await client.pop(queue))["body"] for _ in range(2)] == ["b", "c"]


# rates


async def seconds_of(client: Client, label: int, count: int) -> list[float]:
    times = []
    for _ in range(count):
        await client.expect(label, type="message")
        times.append(time.monotonic())
    return times


async def test_after_a_pause_a_burst_and_then_the_rate(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, rate=20, burst=5)
    await clients[0].post_all(queue, ["m"] * 15)
    began = time.monotonic()
    labels = [await client.begin("fetch", queue, count=10, block_timeout=PATIENCE) for client in clients[:1]]
    taken = [await clients[0].expect(labels[0], type="message") for _ in range(5)]
    assert {message["queue"] for message in taken} == {queue}
    label = await clients[1].subscribe(queue, in_flight=100)
    times = await seconds_of(clients[1], label, 10)
    assert times[-1] - began >= 10 / 20 * 0.95


async def test_all_nodes_together_keep_to_the_rate(clients: list[Client], queue: str) -> None:
    await clients[0].create(queue, rate=20, burst=1)
    labels = [await client.subscribe(queue, in_flight=100) for client in clients]
    times: list[float] = []

    async def read(client: Client, label: int) -> None:
        while True:
            await client.expect(label, type="message")
            times.append(time.monotonic())

    readers = [asyncio.create_task(read(client, label)) for client, label in zip(clients, labels, strict=True)]
    began = time.monotonic()
    await clients[0].post_all(queue, ["m"] * 20)
    async with asyncio.timeout(PATIENCE):
        while len(times) < 20:
            await asyncio.sleep(LOOK_SECONDS)
    for reader in readers:
        reader.cancel()
    assert times[-1] - began >= 19 / 20 * 0.95  # not from the first on, of which we may have heard late


async def test_pops_keep_to_the_rate(client: Client, queue: str) -> None:
    await client.create(queue, rate=0.001, burst=2)
    await client.post_all(queue, ["a", "b", "c"])
    assert [(await client.pop(queue))["body"] for _ in range(2)] == ["a", "b"]
    await client.expect(await client.begin("pop", queue), type="nomessage")
    await client.finds_nothing(queue)


async def test_posts_to_a_waiting_reader_keep_to_the_rate(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, rate=0.001, burst=1)
    label = await client.subscribe(queue)
    await other.post_all(queue, ["a", "b"])
    await client.expect(label, type="message", body="a")
    await client.finds_nothing(queue)
    popping = await client.begin("pop", queue, timeout=0.1)
    await other.begin("post", queue, message="c")
    await client.expect(popping, type="nomessage")


# while the queue runs


async def test_an_operator_changes_limits_while_the_queue_runs(
    clients: list[Client], operators: Operators, three_nodes: Cluster, queue: str
) -> None:
    await clients[0].post_all(queue, [str(number) for number in range(8)])
    label = await clients[1].subscribe(queue, in_flight=2)
    held = await clients[1].messages(label, 2)
    await change(operators, three_nodes, queue, max_in_flight=1)
    await clients[2].finds_nothing(queue)
    waiting = await clients[2].begin("fetch", queue, block_timeout=PATIENCE)
    await change(operators, three_nodes, queue, max_in_flight=3)
    third: Fields = await clients[2].expect(waiting, type="message")
    await clients[0].finds_nothing(queue)
    await change(operators, three_nodes, queue, max_in_flight=None, rate=0.001, burst=1)
    await clients[0].fetch(queue, block_timeout=PATIENCE)
    await clients[0].finds_nothing(queue)
    waiting = await clients[0].begin("fetch", queue, block_timeout=PATIENCE)
    await change(operators, three_nodes, queue, rate=None)
    await clients[0].expect(waiting, type="message")
    for message in held:
        await clients[1].finish(message)
    await clients[2].finish(third)
