"""Section 6 of the protocol: nodes that are killed or stopped, and the clients that they leave behind."""

import os
from collections.abc import Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import Connect, StartCluster


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Two nodes, of which each test ends the first; it is started again for the next."""
    settings = {"REDIS_URL": os.environ["REDIS_URL"], "WILLOW_DRAIN_SECONDS": "2"}
    with start_cluster(nodes=2, reaper=True, **settings) as cluster:
        yield cluster


@pytest.fixture
def doomed(cluster: Cluster) -> Iterator[Node]:
    node = cluster.nodes[0]
    yield node
    if not node.runs:
        node.start()
        node.wait_until_ready()


@pytest.fixture
async def there(cluster: Cluster, connect: Connect) -> Client:
    """A client of the node that lives on."""
    return await connect(cluster.nodes[1])


async def test_a_client_of_a_killed_node_finishes_on_another_one(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.kill()
    again = await connect_when_available(cluster.nodes[1], id=client.id)
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
    assert (await there.fetch(queue, block_timeout=PATIENCE))["attempt"] == 2


async def test_no_claim_runs_out_while_its_node_is_dead_and_nobody_has_noticed(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    """The claim would end before the node counts as dead (WILLOW_NODE_LAPSE), but its time starts again.

    It is nearly as long as that: so long a machine may take to kill the node, and later to finish.
    """
    client = await connect(doomed)
    await there.create(queue, retry_delay=0)
    await there.post(queue, "m")
    message = await client.fetch(queue, work_timeout=2.5)
    doomed.kill()
    again = await connect_when_available(cluster.nodes[1], id=client.id)
    await again.finish(message)


async def test_a_poster_of_a_killed_node_gets_its_notices_on_another_one(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    poster = await connect(doomed)
    label = await poster.begin("post", queue, message="m", notify=["sync", "finish"])
    await poster.expect(label, notice="sync")
    doomed.kill()
    await there.finish(await there.fetch(queue), reply="done")
    again = await connect_when_available(cluster.nodes[1], id=poster.id)
    await again.expect(label, notice="finish", reply="done")


async def test_a_node_that_stops_lets_its_clients_go_on_elsewhere(
    cluster: Cluster, doomed: Node, there: Client, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    client = await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.stop()
    again = await connect_when_available(cluster.nodes[1], id=client.id)
    await there.finds_nothing(queue)
    await again.finish(message)


async def test_queues_can_be_made_right_after_another_node_died(doomed: Node, there: Client, queue: str) -> None:
    """Nodes tell each other of new queues; one that is dead and not yet known to be must not be waited for."""
    doomed.kill()
    assert (await there.create(queue))["created"] is True
    await there.post(f"{queue}-other", "m")
