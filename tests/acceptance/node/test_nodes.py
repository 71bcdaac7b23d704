"""Several nodes on one database: what happens on one reaches clients on the others."""

import signal
from collections.abc import Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from willow_site.embedded.valkey import throwaway_valkey
from willow_site.processes import wait_until


@pytest.fixture(scope="module")
def unpolled(start_cluster: StartCluster) -> Iterator[Cluster]:
    """Two nodes that hear of each other over Redis or not at all: the slow poll behind it is turned off."""
    settings = {"WILLOW_POLL_SECONDS": "3600", "WILLOW_NODE_LAPSE": "3600"}
    with (
        throwaway_valkey() as redis_url,
        start_cluster(nodes=2, reaper=True, REDIS_URL=redis_url, **settings) as cluster,
    ):
        yield cluster


@pytest.fixture
async def here(unpolled: Cluster, connect: Connect) -> Client:
    return await connect(unpolled.nodes[0])


@pytest.fixture
async def there(unpolled: Cluster, connect: Connect) -> Client:
    return await connect(unpolled.nodes[1])


# the nodes themselves


async def test_every_node_tells_where_it_is_reached_and_how_many_it_serves(
    three_nodes: Cluster, connect: Connect
) -> None:
    for _ in range(2):
        await connect(three_nodes.nodes[1])
    expected = [(node.name, node.url, 2 if node is three_nodes.nodes[1] else 0) for node in three_nodes.nodes]
    rows = "SELECT name, url, sockets FROM clients_node WHERE NOT draining ORDER BY name"
    assert wait_until(lambda: three_nodes.query(rows) == expected, PATIENCE)


async def test_every_node_says_again_and_again_that_it_is_alive(three_nodes: Cluster) -> None:
    beats = "SELECT count(*) FROM clients_node WHERE heartbeat_at > %s"
    [(now,)] = three_nodes.query("SELECT clock_timestamp()")
    for _ in range(3):
        assert wait_until(lambda now=now: three_nodes.query(beats, now) == [(3,)], PATIENCE)
        [(now,)] = three_nodes.query("SELECT clock_timestamp()")


@pytest.mark.parametrize("block_timeout", [0, 3600])
async def test_a_node_says_what_each_of_its_sessions_reads(
    three_nodes: Cluster, connect: Connect, queue: str, block_timeout: float
) -> None:
    """Of a worker that waits in a fetch, and of one that looks again and again."""
    worker = await connect(three_nodes.nodes[1])
    made = await worker.create(queue)
    label = await worker.begin("fetch", queue, block_timeout=block_timeout)
    said = "SELECT r.value FROM clients_node n, jsonb_each(n.reading) r WHERE n.name = %s"
    assert wait_until(lambda: ([made["shard"]],) in three_nodes.query(said, three_nodes.nodes[1].name), PATIENCE)
    if not block_timeout:
        await worker.expect(label, type="nomessage")


# messages


@pytest.mark.parametrize(("read", "how_long"), [("fetch", "block_timeout"), ("pop", "timeout")])
async def test_a_post_wakes_a_reader_on_another_node(
    here: Client, there: Client, queue: str, read: str, how_long: str
) -> None:
    label = await there.begin_waiting(read, queue, **{how_long: 60})
    await here.post(queue, "m")
    await there.expect(label, type="message", body="m")


async def test_a_post_wakes_a_subscription_on_another_node(here: Client, there: Client, queue: str) -> None:
    label = await there.subscribe(queue)
    await here.post(queue, "m")
    await there.expect(label, type="message", body="m")


async def test_a_post_wakes_a_streams_readers_on_all_nodes(here: Client, there: Client, queue: str, name: str) -> None:
    await here.create(queue, kind="stream")
    labels = []
    for client in (here, there):
        await client.register(f"{name}-{client.node}")
        labels.append(await client.subscribe(queue))
    await here.post(queue, "m")
    for client, label in zip((here, there), labels, strict=True):
        await client.expect(label, type="message", body="m")


async def test_a_message_that_failed_on_one_node_is_taken_on_another(here: Client, there: Client, queue: str) -> None:
    await here.create(queue, retry_delay=0)
    await here.post(queue, "m")
    message = await here.fetch(queue)
    label = await there.begin_waiting("fetch", queue, block_timeout=60)
    await here.fail(message)
    await there.finish(await there.expect(label, type="message", attempt=2))


async def test_a_message_that_timed_out_comes_again_and_takes_one_place(here: Client, queue: str) -> None:
    await here.create(queue, heartbeat_timeout=0.1, retry_delay=0, retry_limit=10)
    label = await here.subscribe(queue, in_flight=2)
    await here.post(queue, "slow")
    assert [message["attempt"] for message in await here.messages(label, 5)] == [1, 2, 3, 4, 5]


# new queues


async def test_a_queue_that_is_made_on_one_node_joins_readers_on_another(
    here: Client, there: Client, queue: str
) -> None:
    subscription = await there.subscribe(queue, tags=["t"], match="strict", in_flight=1)
    fetch = await there.begin("fetch", queue, tags=["t"], match="any", block_timeout=60)
    await there.heard_everything()
    await here.post_all(queue, ["1", "2"], tags=["t", "u"])
    assert {(await there.next(label))["body"] for label in (subscription, fetch)} == {"1", "2"}


async def test_a_new_queue_is_not_used_before_the_other_nodes_know_it(
    unpolled: Cluster, here: Client, there: Client, connect: Connect, queue: str
) -> None:
    known = f"{queue}-known"
    await here.create(known)
    later = await connect(unpolled.nodes[0])
    first = await there.subscribe(queue, tags=["t"], match="strict", in_flight=1)
    sleeping = unpolled.nodes[1]
    sleeping.send(signal.SIGSTOP)
    try:
        created = await here.begin("create", queue, tags=["t"])
        assert wait_until(lambda: _is_made(unpolled, queue), PATIENCE)
        await here.post_all(known, ["1", "2"])
        await here.begin("post", queue, tags=["t"], message="1")
        second = await later.begin("subscribe", queue, tags=["t"], in_flight=1)
        await later.fetch_all(known, 2)
        assert (here.unread(created), later.unread(second)) == ([], [])
    finally:
        sleeping.send(signal.SIGCONT)
    await here.expect(created, type="queue", created=True)
    await later.expect(second, type="subscribed")
    await here.post(queue, "2", tags=["t"])
    taken = [await there.expect(first, type="message"), await later.expect(second, type="message")]
    assert {message["body"] for message in taken} == {"1", "2"}


def _is_made(cluster: Cluster, queue: str) -> bool:
    return cluster.query("SELECT 1 FROM queues_queue WHERE name = %s", queue) != []
