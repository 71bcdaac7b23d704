"""kill -9 of PostgreSQL: what was told to be on disk is on disk."""

from collections.abc import Iterator

import pytest

from tests.support.client import Client, claim
from tests.support.cluster import PATIENCE, Cluster, running_cluster
from tests.support.fixtures import Connect
from tests.support.storage import Storage
from willow_site.processes import wait_until

UNDER_WAY = 64  # posts that wait for their notice


@pytest.fixture(scope="module")
def cluster(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A node that commits nothing of its own accord, on a server that flushes nothing of its own accord."""
    storage.flush_only_for_commits()
    hardly_ever = {
        "WILLOW_NODE_HEARTBEAT": "600",
        "WILLOW_NODE_LAPSE": "1200",
        "WILLOW_POLL_SECONDS": "600",
    }
    with running_cluster(storage.databases, tmp_path_factory.mktemp("cluster"), **hardly_ever) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect_when_available: Connect, queue: str) -> Client:
    """A client of a node that has recovered from the last test: what makes queues, posts and takes has a connection."""
    client = await connect_when_available(cluster.node)
    await client.ask_until_available("create", f"{queue}?")
    await client.ask_until_available("post", "ready?", message="yes", notify=["sync"])
    await client.ask_until_available("pop", "ready?")
    return client


def kill_and_start_again(storage: Storage) -> None:
    storage.kill()
    storage.start()


async def bodies_of(client: Client, queue: str) -> list[str]:
    """Take all messages out of a queue."""
    bodies = []
    while (answer := await client.ask_until_available("pop", queue))["type"] == "message":
        bodies.append(answer["body"])
    return bodies


@pytest.mark.parametrize("round", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 10))])
async def test_every_post_that_was_synced_is_there(storage: Storage, client: Client, queue: str, round: int) -> None:
    labels = {await client.begin("post", queue, message=str(n), notify=["sync"]): str(n) for n in range(UNDER_WAY)}
    synced = []
    for number, (label, body) in enumerate(list(labels.items())):
        if number == UNDER_WAY // 2:
            storage.kill()
        answer = await client.next(label)
        if answer.get("notice") == "sync":
            synced.append(body)
    storage.start()
    stored = await bodies_of(client, queue)
    assert set(synced) <= set(stored)
    assert len(set(stored)) == len(stored)
    assert len(synced) >= UNDER_WAY // 2


async def test_a_post_that_asked_for_no_notice_is_as_safe(
    storage: Storage, cluster: Cluster, client: Client, queue: str
) -> None:
    shard = (await client.create(queue))["shard"]
    await client.send({"type": "post", "queue": queue, "message": "m"})
    stored = "SELECT FROM delivery_message WHERE queue_id = %s"
    assert wait_until(lambda: bool(cluster.query(stored, shard)), PATIENCE)
    kill_and_start_again(storage)
    assert await bodies_of(client, queue) == ["m"]


async def test_a_finish_that_was_synced_stays_finished(storage: Storage, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = await client.begin("finish", **claim(message), response="sync")
    await client.expect(label, notice="sync")
    kill_and_start_again(storage)
    assert await bodies_of(client, queue) == []


async def test_a_failure_that_was_synced_counts(storage: Storage, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = await client.begin("fail", **claim(message), response="sync")
    await client.expect(label, notice="sync")
    kill_and_start_again(storage)
    assert (await client.ask_until_available("fetch", queue))["attempt"] == 2


async def test_a_claim_that_was_synced_stays_a_claim(storage: Storage, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue, sync="sync")
    kill_and_start_again(storage)
    assert await bodies_of(client, queue) == []
    await client.finish(message)


async def test_an_index_that_a_client_was_told_never_comes_again(
    storage: Storage, cluster: Cluster, client: Client, queue: str
) -> None:
    """Also when the crash takes the message back, and also for messages that are posted in a batch."""
    first = await client.post(queue, "flushed")
    labels = [await client.begin("post", queue, message="written", notify=["write"]) for _ in range(2)]
    told = [(await client.expect(label, notice="write"))["index"] for label in labels]
    kill_and_start_again(storage)
    again = await client.ask_until_available("post", queue, message="after the crash", notify=["sync"])
    batch = await client.post_all(queue, ["1", "2", "3"])
    indexes = [first["index"], *told, again["index"], *(notice["index"] for notice in batch)]
    assert len(set(indexes)) == len(indexes)
    assert indexes == sorted(indexes)
    counted = "SELECT newest_index - (SELECT sum(messages) FROM delivery_endedcount e WHERE e.queue_id = c.queue_id),"
    stored = " (SELECT count(*) FROM delivery_message m WHERE m.queue_id = c.queue_id) FROM queues_counter c"
    [(live, rows)] = cluster.query(counted + stored + " WHERE queue_id = %s", first["shard"])
    assert live == rows


async def test_a_queue_that_dead_letters_made_is_there(
    storage: Storage, cluster: Cluster, client: Client, queue: str
) -> None:
    """Though the `fail` behind it need not be: nodes remember queues by numbers, which no others may get."""
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    await client.fail(await client.fetch(queue))
    kill_and_start_again(storage)
    assert cluster.query("SELECT FROM queues_queue WHERE name = %s", f"{queue}.dead")
