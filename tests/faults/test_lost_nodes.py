"""Nodes that are killed, stopped or fall silent, and the registered clients that they served."""

import signal
from collections.abc import Callable, Iterator

import pytest

from tests.support.client import Fields
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import Connect, StartCluster
from willow_site.processes import wait_until

WORK, STREAM = 701, 702  # labels of subscriptions that outlive their connection


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Two nodes, of which each test loses the first; it is started again for the next."""
    with start_cluster(nodes=2, reaper=True, WILLOW_DRAIN_SECONDS="0") as cluster:
        yield cluster


@pytest.fixture
def doomed(cluster: Cluster) -> Node:
    start_again(cluster.nodes[0])
    return cluster.nodes[0]


def start_again(node: Node) -> None:
    if not node.runs:
        node.start()
        node.wait_until_ready()


def killed(cluster: Cluster) -> Node:
    cluster.nodes[0].kill()
    return cluster.nodes[1]


def killed_and_started_again(cluster: Cluster) -> Node:
    cluster.nodes[0].kill()
    start_again(cluster.nodes[0])
    return cluster.nodes[0]


def stopped_and_started_again(cluster: Cluster) -> Node:
    cluster.nodes[0].stop()
    start_again(cluster.nodes[0])
    return cluster.nodes[0]


def numbers(messages: list[Fields]) -> list[tuple[int, int]]:
    return [(message["index"], message["attempt"]) for message in messages]


@pytest.mark.parametrize("lose", [killed, killed_and_started_again, stopped_and_started_again])
async def test_a_client_goes_on_where_it_was_when_its_node_is_lost(
    cluster: Cluster, doomed: Node, connect: Connect, queue: str, name: str, lose: Callable[[Cluster], Node]
) -> None:
    stream = f"{queue}-stream"
    reader = await connect(doomed)
    await reader.register(name)
    await reader.create(stream, kind="stream")
    for label, each in ((WORK, queue), (STREAM, stream)):
        await reader.subscribe(each, in_flight=3, label=label)
        await reader.post_all(each, ["1", "2", "3"])
        await reader.finish((await reader.messages(label, 3))[1])

    back = await connect(lose(cluster))
    await back.post(queue, "4", priority=9)
    await back.post(stream, "4")
    record = await back.register_when_free(name)
    assert [read["outstanding_index"] for read in record["subscribed_to"]] == [[1, 3], [1, 3]]
    work, read = await back.messages(WORK, 3), await back.messages(STREAM, 3)
    assert numbers(work) == [(1, 1), (3, 1), (4, 1)]
    assert numbers(read) == [(1, 2), (3, 2), (4, 1)]
    for message in (*work, *read):
        await back.finish(message)


async def test_a_client_whose_node_fell_silent_is_served_elsewhere_and_only_there(
    cluster: Cluster, doomed: Node, connect: Connect, queue: str, name: str
) -> None:
    reader = await connect(doomed)
    await reader.register(name)
    await reader.subscribe(queue, label=WORK)
    doomed.send(signal.SIGSTOP)
    back = await connect(cluster.nodes[1])
    await back.register_when_free(name)
    doomed.send(signal.SIGCONT)
    await reader.closed_by_broker()
    await back.post(queue, "m")
    await back.finish(await back.expect(WORK, body="m"))


async def test_a_frozen_node_that_goes_on_gives_back_nothing_of_a_client_that_went_on_elsewhere(
    cluster: Cluster, doomed: Node, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    there, client = await connect(cluster.nodes[1]), await connect(doomed)
    await there.post(queue, "m")
    message = await client.fetch(queue)
    doomed.send(signal.SIGSTOP)
    client.socket.transport.abort()
    again = await connect_when_available(cluster.nodes[1], id=client.id)
    doomed.send(signal.SIGCONT)
    noticed = "SELECT FROM clients_node WHERE name = %s AND sockets = 0 AND heartbeat_at > now() - interval '1 second'"
    assert wait_until(lambda: bool(cluster.query(noticed, doomed.name)), PATIENCE)
    await there.finds_nothing(queue)
    await again.finish(message)


async def test_a_post_to_several_queues_is_never_cut_in_half(
    cluster: Cluster, doomed: Node, connect: Connect, queue: str
) -> None:
    names = [f"{queue}-{number}" for number in range(3)]
    client = await connect(doomed)
    labels = [await client.begin("post", names, message=str(n), notify=["write"]) for n in range(300)]
    await client.expect(labels[50], notice="write")
    doomed.kill()
    copies = cluster.query(
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id"
        " WHERE q.name = ANY (%s) GROUP BY m.body",
        names,
    )
    assert len(copies) >= 50
    assert set(copies) == {(len(names),)}
