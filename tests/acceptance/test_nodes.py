"""Section 6 of the protocol on several nodes: waking, notices, coming back elsewhere, nodes that stop or die."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from tests.brokers.client import Client
from tests.brokers.cluster import PATIENCE, Cluster, Node
from tests.brokers.fixtures import Connect, StartCluster

LOOK_SECONDS = 0.02


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Two nodes that wake each other over Redis. Tests that end one start it again."""
    with start_cluster(nodes=2, reaper=True, REDIS_URL=os.environ["REDIS_URL"], WILLOW_DRAIN_SECONDS="2") as cluster:
        yield cluster


@pytest.fixture
async def here(cluster: Cluster, connect: Connect) -> Client:
    """A client of the first node."""
    return await connect(cluster.nodes[0])


@pytest.fixture
async def there(cluster: Cluster, connect: Connect) -> Client:
    """A client of the second node."""
    return await connect(cluster.nodes[1])


@pytest.fixture
def doomed(cluster: Cluster) -> Iterator[Node]:
    """The first node, which the test ends; it is back afterwards."""
    [node, _] = cluster.nodes
    yield node
    if not node.runs:
        node.start()
        node.wait_until_ready()


async def come_back(connect: Connect, client: Client, node: Node) -> Client:
    """Take up the client's id again on a node, as soon as the broker has noticed that its socket is gone."""
    async with asyncio.timeout(PATIENCE):
        while True:
            again = await connect(node, id=client.id)
            if again.id == client.id:
                return again
            await asyncio.sleep(LOOK_SECONDS)


# working together


async def test_a_message_wakes_a_fetch_on_another_node_over_redis(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    settings = {"WILLOW_POLL_SECONDS": "3600", "REDIS_URL": os.environ["REDIS_URL"]}
    with start_cluster(nodes=2, **settings) as cluster:
        here, there = [await connect(node) for node in cluster.nodes]
        await here.create(queue, retry_delay=0)
        label = await there.begin_waiting("fetch", queue, block_timeout=30)
        await here.post(queue, "m")
        await there.expect(label, type="message", attempt=1)
        label = await here.begin_waiting("fetch", queue, block_timeout=30)
        await there.close()
        await here.expect(label, type="message", attempt=2)
        await here.close()


async def test_a_message_is_found_on_another_node_without_redis(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster(nodes=2) as cluster:
        here, there = [await connect(node) for node in cluster.nodes]
        label = await there.begin_waiting("fetch", queue, block_timeout=30)
        await here.post(queue, "m")
        await there.expect(label, type="message")
        for client in (here, there):
            await client.close()


async def test_notices_reach_a_poster_on_another_node(here: Client, there: Client, queue: str) -> None:
    await here.create(queue, retry_limit=2, retry_delay=0)
    stages = ["assign", "retry", "finish", "drop"]
    finished = await here.begin("post", queue, message="1", notify=stages)
    await there.fail(await there.fetch(queue, block_timeout=30))
    await there.finish(await there.fetch(queue, block_timeout=30), reply="done")
    for stage in ("assign", "retry", "assign"):
        await here.expect(finished, notice=stage)
    await here.expect(finished, notice="finish", reply="done")
    dropped = await here.begin("post", queue, message="2", notify=stages)
    for _ in range(2):
        await there.fail(await there.fetch(queue, block_timeout=30))
    for stage in ("assign", "retry", "assign", "drop"):
        await here.expect(dropped, notice=stage)
    popped = await here.begin("post", queue, message="3", notify=stages)
    await there.pop(queue, timeout=30)
    await here.expect(popped, notice="finish")


async def test_settings_of_a_queue_hold_on_all_nodes(here: Client, there: Client, queue: str) -> None:
    await here.create(queue, max_length=1)
    await here.post(queue, "1")
    label = await there.begin("post", queue, message="2")
    await there.expect(label, type="error", code="Overloaded", key=queue)


# identities


async def test_an_id_that_lives_on_another_node_is_denied(cluster: Cluster, here: Client, connect: Connect) -> None:
    second = await connect(cluster.nodes[1], id=here.id)
    assert second.id == ""
    assert f'"key":"{cluster.nodes[0].name}"' in second.received[0]
    assert '"code":"PermissionDenied"' in second.received[0]


async def test_a_held_claim_can_be_finished_on_another_node(
    cluster: Cluster, there: Client, connect: Connect, queue: str
) -> None:
    holder = await connect(cluster.nodes[0], hold=30)
    await there.post(queue, "m")
    message = await holder.fetch(queue)
    await holder.close()
    again = await come_back(connect, holder, cluster.nodes[1])
    await again.finish(message)


# nodes that end


async def test_a_client_of_a_killed_node_finishes_on_another_one(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.kill()
    again = await come_back(connect, client, cluster.nodes[1])
    await there.finds_nothing(queue)
    await again.finish(message)


async def test_a_client_of_a_killed_node_finishes_on_the_same_one_when_it_is_back(
    doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.kill()
    doomed.start()
    doomed.wait_until_ready()
    again = await connect(doomed, id=client.id)
    assert again.id == client.id
    await there.finds_nothing(queue)
    await again.finish(message)


async def test_claims_of_a_killed_node_whose_clients_stay_away_time_out(
    doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.create(queue, retry_delay=0)
    await there.post(queue, "m")
    await client.fetch(queue, work_timeout=2)
    doomed.kill()
    assert (await there.fetch(queue, block_timeout=30))["attempt"] == 2


async def test_no_claim_runs_out_while_its_node_is_dead_and_nobody_has_noticed(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    """The claim would end before the node counts as dead (WILLOW_NODE_LAPSE), but its time starts again."""
    client = await connect(doomed)
    await there.create(queue, retry_delay=0)
    await there.post(queue, "m")
    message = await client.fetch(queue, work_timeout=0.7)
    doomed.kill()
    again = await come_back(connect, client, cluster.nodes[1])
    await again.finish(message)


async def test_a_poster_of_a_killed_node_gets_its_notices_on_another_one(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    poster = await connect(doomed)
    label = await poster.begin("post", queue, message="m", notify=["sync", "finish"])
    await poster.expect(label, notice="sync")
    doomed.kill()
    await there.finish(await there.fetch(queue), reply="done")
    again = await come_back(connect, poster, cluster.nodes[1])
    await again.expect(label, notice="finish", reply="done")


async def test_a_node_that_stops_lets_its_clients_go_on_elsewhere(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.stop()
    again = await come_back(connect, client, cluster.nodes[1])
    await there.finds_nothing(queue)
    await again.finish(message)


async def test_a_node_that_stops_waits_for_claims_to_end(
    doomed: Node, there: Client, connect: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.send(signal.SIGTERM)
    await client.finish(message)
    await client.closed_by_broker()
    await there.finds_nothing(queue)


async def test_queues_can_be_made_right_after_another_node_died(doomed: Node, there: Client, queue: str) -> None:
    """Nodes tell each other of new queues; one that is dead and not yet known to be must not be waited for."""
    doomed.kill()
    assert (await there.create(queue))["created"] is True
    await there.post(f"{queue}-other", "m")
