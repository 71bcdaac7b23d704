"""SIGTERM: a node takes no new sockets and hands nothing more out, but lets running work end."""

import signal
from collections.abc import Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import Connect, StartCluster
from willow_site.processes import wait_until


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Two nodes, of which each test ends the first. They would drain for longer than any test waits."""
    with start_cluster(nodes=2, reaper=True, WILLOW_DRAIN_SECONDS=str(10 * PATIENCE)) as cluster:
        yield cluster


@pytest.fixture
def draining(cluster: Cluster) -> Iterator[Node]:
    """The node that a test sends SIGTERM to. It is started again for the next one."""
    node = cluster.nodes[0]
    if not node.runs:
        node.start()
        node.wait_until_ready()
    yield node
    node.kill()


async def begin_draining(node: Node, client: Client) -> None:
    """Send SIGTERM, and wait until the node hands out nothing more."""
    node.send(signal.SIGTERM)
    assert wait_until(lambda: not node.accepts_connections(), PATIENCE)
    await client.heard_everything()


async def test_a_draining_node_takes_no_new_sockets(
    cluster: Cluster, draining: Node, connect: Connect, queue: str
) -> None:
    client = await connect(draining)
    await client.post(queue, "m")
    await client.fetch(queue)
    await begin_draining(draining, client)
    with pytest.raises(ConnectionRefusedError):
        await connect(draining)
    said = "SELECT draining FROM clients_node WHERE name = %s"
    assert wait_until(lambda: cluster.query(said, draining.name) == [(True,)], PATIENCE)


async def test_a_draining_node_hands_out_nothing_more(
    cluster: Cluster, draining: Node, connect: Connect, queue: str, name: str
) -> None:
    stream = f"{queue}-stream"
    client, there = await connect(draining), await connect(cluster.nodes[1])
    await client.create(stream, kind="stream")
    await client.register(name)
    labels = [await client.subscribe(each) for each in (queue, stream)]
    await there.post(queue, "1")
    held = await client.expect(labels[0], body="1")
    await begin_draining(draining, client)
    for each in (queue, stream):
        await client.post(each, "2")  # running work may still post
    fetch = await client.begin("fetch", queue, block_timeout=60)
    await client.expect(fetch, type="error", code="Unavailable")
    assert (await there.fetch(queue))["body"] == "2"
    assert [client.unread(label) for label in labels] == [[], []]
    await client.finish(held)


@pytest.mark.parametrize("kind", ["work", "stream"])
async def test_a_draining_node_ends_when_the_last_message_was_finished(
    cluster: Cluster, draining: Node, connect: Connect, queue: str, name: str, kind: str
) -> None:
    client = await connect(draining)
    await client.create(queue, kind=kind)
    await client.register(name)
    label = await client.subscribe(queue)
    await client.post_all(queue, ["1", "2"])
    messages = await client.messages(label, 2)
    await begin_draining(draining, client)
    for message in messages:
        assert draining.runs
        await client.finish(message)
    await client.closed_by_broker()
    assert wait_until(lambda: not draining.runs, PATIENCE)
    assert cluster.query("SELECT 1 FROM clients_node WHERE name = %s", draining.name) == []


async def test_a_node_that_stops_waits_for_claims_to_end(
    cluster: Cluster, draining: Node, connect: Connect, queue: str
) -> None:
    """Whether it has begun to drain or not when they do."""
    client, there = await connect(draining), await connect(cluster.nodes[1])
    await there.post(queue, "m")
    message = await client.fetch(queue)
    draining.send(signal.SIGTERM)
    await client.finish(message)
    await client.closed_by_broker()
    await there.finds_nothing(queue)


async def test_a_draining_node_does_not_wait_for_a_client_that_has_left(
    draining: Node, connect: Connect, queue: str
) -> None:
    client = await connect(draining)
    await client.post(queue, "m")
    await client.fetch(queue)
    await begin_draining(draining, client)
    await client.close()
    assert wait_until(lambda: not draining.runs, PATIENCE)


async def test_a_draining_node_does_not_wait_for_a_client_that_only_waits(
    draining: Node, connect: Connect, queue: str
) -> None:
    client = await connect(draining)
    await client.subscribe(queue)
    await client.begin_waiting("fetch", f"{queue}-other", block_timeout=600)
    draining.send(signal.SIGTERM)
    await client.closed_by_broker()
    assert wait_until(lambda: not draining.runs, PATIENCE)


async def test_sessions_that_were_just_opening_are_left_to_other_nodes(cluster: Cluster, draining: Node) -> None:
    """Their rows are written, and the node does not have them in its table yet. They kept it from leaving."""
    node = "SELECT id FROM clients_node WHERE name = %s"
    cluster.query(f"INSERT INTO clients_session (token, node_id) VALUES ('opening', ({node}))", draining.name)
    draining.send(signal.SIGTERM)
    assert wait_until(lambda: not draining.runs, PATIENCE)
    assert cluster.query(node, draining.name) == []
    left = "SELECT node_id, orphaned_at IS NOT NULL FROM clients_session WHERE token = 'opening'"
    assert cluster.query(left) == [(None, True)]
