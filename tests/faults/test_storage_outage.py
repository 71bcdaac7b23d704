"""PostgreSQL is gone for a while: everybody is told so, and goes on over the same connection when it is back."""

from collections.abc import Iterator

import pytest

from tests.support.client import Client, claim
from tests.support.cluster import PATIENCE, THROUGH_RESTARTS, Cluster, running_cluster
from tests.support.fixtures import Connect
from tests.support.scrapes import scrape
from tests.support.storage import Storage
from willow_site.processes import wait_until


@pytest.fixture(scope="module")
def cluster(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(storage.databases, tmp_path_factory.mktemp("cluster"), reaper=True) as cluster:
        yield cluster


LANES = {"claims", "doors", "jobs", "large posts", "posts", "queues", "streams"}
REAPER = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'willow reaper'"


@pytest.fixture
def outage(storage: Storage, cluster: Cluster) -> Iterator[Storage]:
    """The storage, which the test stops; it is back afterwards. Nobody is still busy with the last outage."""
    assert wait_until(lambda: _lanes_connected(cluster) == LANES and bool(cluster.query(REAPER)), PATIENCE)
    yield storage
    storage.start()


@pytest.fixture
async def client(cluster: Cluster, connect_when_available: Connect) -> Client:
    return await connect_when_available(cluster.node)


async def test_an_acknowledgement_of_a_stream_is_told_that_the_storage_is_gone(
    outage: Storage, client: Client, queue: str, name: str
) -> None:
    await client.create(queue, kind="stream")
    await client.register(name)
    label = await client.subscribe(queue)
    await client.post_all(queue, ["1", "2"])
    messages = await client.messages(label, 2)
    outage.stop()
    await client.expect(await client.begin("fetch", queue), type="error")  # it has noticed
    for message in messages:
        said = await client.begin("finish", **claim(message), response="write")
        await client.expect(said, type="error", code="Unavailable", key="storage")


async def test_every_command_is_told_that_the_storage_is_gone(outage: Storage, client: Client, queue: str) -> None:
    """Once, whether its queue is known or not."""
    await client.post(queue, "m")
    message = await client.fetch(queue)
    outage.stop()
    labels = [
        await client.begin("post", queue, message="m", notify=["sync"]),
        await client.begin("post", f"{queue}-new", message="m", notify=["sync"]),
        await client.begin("post", [queue, f"{queue}-new"], message="m", notify=["sync"]),
        await client.begin("fetch", queue),
        await client.begin("fetch", queue, block_timeout=30),
        await client.begin("fetch", f"{queue}-new"),
        await client.begin("pop", queue),
        await client.begin("pop", f"{queue}-new", timeout=30),
        await client.begin("finish", **claim(message)),
        await client.begin("fail", **claim(message)),
        await client.begin("keepalive", **claim(message)),
        await client.begin("create", f"{queue}-created"),
    ]
    for label in labels:
        await client.expect(label, type="error", code="Unavailable")
    await client.heard_everything()
    assert client.unread() == []


async def test_a_connection_goes_on_when_the_storage_is_back(outage: Storage, client: Client, queue: str) -> None:
    await client.post(queue, "before")
    message = await client.fetch(queue)
    outage.stop()
    label = await client.begin("post", queue, message="meanwhile")
    await client.expect(label, code="Unavailable")
    outage.start()
    notice = await client.ask_until_available("post", queue, message="after", notify=["sync"])
    assert notice["notice"] == "sync"
    assert (await client.ask_until_available("fetch", queue))["body"] == "after"
    await client.finish(message)


async def test_a_blocked_fetch_outlasts_the_outage(outage: Storage, client: Client, queue: str) -> None:
    label = await client.begin_waiting("fetch", queue, block_timeout=THROUGH_RESTARTS)
    outage.stop()
    outage.start()
    await client.ask_until_available("post", queue, message="m", notify=["sync"])
    await client.expect(label, type="message", body="m")


async def test_an_idle_broker_has_found_its_storage_again_before_anybody_asks(
    outage: Storage, cluster: Cluster, client: Client, queue: str
) -> None:
    """Nobody must pay with an error for an outage that is long over."""
    await client.post(queue, "m")
    before = _connections_made(cluster)
    outage.stop()
    outage.start()
    assert wait_until(lambda: _lanes_connected(cluster) == LANES and _made_anew(cluster, before), PATIENCE)
    await client.post(queue, "m")
    await client.fetch_all(queue, 2)
    await client.create(f"{queue}-new")


def _lanes_connected(cluster: Cluster) -> set[str]:
    """As the node sees it: PostgreSQL knows a connection before the node may use it."""
    return {labels["lane"] for labels, value in scrape(cluster.node).all("willow_lane_connected") if value}


def _connections_made(cluster: Cluster) -> dict[str, float]:
    """By lane: how many there were so far."""
    return {labels["lane"]: value for labels, value in scrape(cluster.node).all("willow_lane_connections_total")}


def _made_anew(cluster: Cluster, before: dict[str, float]) -> bool:
    """Whether each lane has another connection: it may take a while to notice that its last one has gone."""
    return all(made > before[lane] for lane, made in _connections_made(cluster).items())


async def test_nobody_comes_in_while_the_storage_is_gone(outage: Storage, cluster: Cluster, connect: Connect) -> None:
    outage.stop()
    client = await connect(cluster.node)
    assert client.greeting["code"] == "Unavailable"
    assert await client.closed_by_broker() == 4500


async def test_who_left_during_the_outage_has_left(
    outage: Storage, cluster: Cluster, client: Client, connect_when_available: Connect, queue: str
) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    await client.fetch(queue)
    outage.stop()
    await client.close()
    outage.start()
    other = await connect_when_available(cluster.node)
    answer = await other.ask_until_available("fetch", queue, block_timeout=PATIENCE)
    assert (answer["type"], answer.get("attempt")) == ("message", 2)
    again = await connect_when_available(cluster.node, id=client.id)
    assert again.id == client.id
