"""One client here, one there: notices, settings and identities do not stop at the border of a node."""

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster


@pytest.fixture
async def here(three_nodes: Cluster, connect: Connect) -> Client:
    return await connect(three_nodes.nodes[0])


@pytest.fixture
async def there(three_nodes: Cluster, connect: Connect) -> Client:
    return await connect(three_nodes.nodes[1])


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


async def test_an_id_that_lives_on_another_node_is_denied(three_nodes: Cluster, here: Client, connect: Connect) -> None:
    second = await connect(three_nodes.nodes[1], id=here.id)
    assert (second.greeting["code"], second.greeting["key"]) == ("PermissionDenied", three_nodes.nodes[0].name)


async def test_a_held_claim_can_be_finished_on_another_node(
    three_nodes: Cluster, there: Client, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    holder = await connect(three_nodes.nodes[0], hold=30)
    await there.post(queue, "m")
    message = await holder.fetch(queue)
    await holder.close()
    again = await connect_when_available(three_nodes.nodes[1], id=holder.id)
    await again.finish(message)
