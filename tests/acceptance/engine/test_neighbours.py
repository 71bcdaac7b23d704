"""One client keeps the node busy, or asks for too much: the others are served as if it were not there."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest

from delivery.engine.post_lanes import LARGE_BYTES
from tests.support.client import Client, connected
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import StartCluster
from tests.support.http import call
from tests.support.keys import make_key
from willow_site.request_slots import SLOTS

MEBIBYTE = 1024 * 1024
LOOK_SECONDS = 0.02
READINGS = 8
POST_BYTES = 4 * MEBIBYTE
WAITS = 20
SETTINGS = {
    "WILLOW_CONNECTION_READINGS": str(READINGS),
    "WILLOW_NODE_POST_BYTES": str(POST_BYTES),
    "WILLOW_HTTP_WAITS_OF_CALLER": str(WAITS),
}


@pytest.fixture(scope="module")
def broker(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(**SETTINGS) as cluster:
        yield cluster


@contextmanager
def locked(broker: Cluster, statement: str, *parameters: object) -> Iterator[None]:
    """Whoever needs these rows waits until the end."""
    with psycopg.connect(broker.database_url) as connection:
        connection.execute(statement, parameters)  # type: ignore[arg-type]
        yield
        connection.rollback()


@pytest.mark.parametrize("command", ["fetch", "pop"])
async def test_lookups_of_unknown_queues_hold_up_no_hello_and_no_heartbeat(
    broker: Cluster, client: Client, command: str
) -> None:
    labels = [client.label() for _ in range(1000)]
    lookups = [{"type": command, "queue": f"unknown-{command}-{label}", "label": label} for label in labels]
    beat = "SELECT heartbeat_at FROM clients_node"
    with locked(broker, "LOCK TABLE queues_queue IN ACCESS EXCLUSIVE MODE"):
        for begin in range(0, len(lookups), 100):
            await client.send(*lookups[begin : begin + 100])
        async with connected(broker.node.url) as newcomer:
            assert newcomer.greeting["type"] == "hello"
        before = broker.query(beat)
        async with asyncio.timeout(PATIENCE):
            while broker.query(beat) == before:
                await asyncio.sleep(LOOK_SECONDS)
    for label in labels:
        await client.expect(label, type="nomessage")


async def test_a_large_post_keeps_only_its_own_poster_waiting(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    shard = (await client.create(queue))["shard"]
    await client.create(f"{queue}-other")
    with locked(broker, "SELECT FROM queues_counter WHERE queue_id = %s FOR UPDATE", shard):
        large = await client.begin("post", queue, message="x" * LARGE_BYTES, notify=["sync"])
        await other.post(f"{queue}-other", "small")
        assert not client.unread(large)
    await client.expect(large, notice="sync")


async def test_large_and_small_posts_of_a_connection_keep_their_order(client: Client, queue: str) -> None:
    large = "x" * LARGE_BYTES
    bodies = ["1", "2", large + "3", "4", large + "5", "6", "7", large + "8", "9"]
    await client.post_all(queue, bodies)
    found = await client.fetch_all(queue, len(bodies))
    assert [message["body"][-1] for message in found] == [body[-1] for body in bodies]
    await client.post_all(queue, ["a", "b"])
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["a", "b"]


async def test_of_too_many_bytes_under_way_only_those_who_sent_many_are_refused(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    shard = (await client.create(queue))["shard"]
    await client.create(f"{queue}-other")
    with locked(broker, "SELECT FROM queues_counter WHERE queue_id = %s FOR UPDATE", shard):
        sent = [await client.begin("post", queue, message="x" * MEBIBYTE, notify=["sync"]) for _ in range(6)]
        answers = [await client.next(label) for label in sent[POST_BYTES // MEBIBYTE :]]
        assert {(answer["code"], answer["key"]) for answer in answers} == {("Overloaded", "node")}
        await other.post(f"{queue}-other", "small")
    for label in sent[: POST_BYTES // MEBIBYTE]:
        await client.expect(label, notice="sync")


async def test_a_connection_reads_so_many_queues_and_no_more(client: Client, other: Client, queue: str) -> None:
    for number in range(READINGS - 2):
        await other.create(queue, tags=["a", "b", str(number)])
    first = await client.subscribe(queue, tags=["a"], match="any")
    refused = await client.begin("subscribe", queue, tags=["b"], match="any")
    await client.expect(refused, type="error", code="Overloaded", key="readings")
    for number in range(READINGS, READINGS + 5):  # the subscription reads the first two of them
        await other.create(queue, tags=["a", str(number)])
    await client.heard_everything()
    assert [(error["code"], error["key"]) for error in client.unread(first)] == [("Overloaded", "readings")]
    await client.expect(first, type="error")
    await other.post(queue, "read", tags=["a", str(READINGS + 1)])
    await client.expect(first, type="message", body="read")
    await client.begin("unsubscribe", queue, label=first)
    await client.subscribe(queue, tags=["b"], match="any")


PLACES = "SELECT (free_places ->> %s)::int FROM clients_node"


async def wait_for_places(broker: Cluster, shard: int, places: int | None) -> None:
    """Until the node says that so many messages of a queue are waited for."""
    async with asyncio.timeout(PATIENCE):
        while broker.query(PLACES, str(shard)) != [(places,)]:
            await asyncio.sleep(LOOK_SECONDS)


async def test_requests_that_wait_hold_no_connection_and_are_bounded(
    broker: Cluster, client: Client, queue: str
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(WAITS + 4))  # a thread for each of our calls
    shard = (await client.create(queue))["shard"]
    waiting = [
        asyncio.create_task(call(broker.node, "POST", f"/api/messages/{action}/", {"queue": queue, "timeout": 30}))
        for action in ("pop", "fetch")
        for _ in range(WAITS // 2 + 1)
    ]
    over = asyncio.as_completed(waiting)
    for _ in range(2):
        refusal = await next(over)
        assert (refusal.status, refusal.json["code"]) == (429, "Overloaded")
    await wait_for_places(broker, shard, WAITS)
    held = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ''"
    ((connections,),) = broker.query(held + " AND pid <> pg_backend_pid()")
    assert connections <= SLOTS < WAITS  # of the threads that took the requests, which are free for others
    await client.post_all(queue, [str(number) for number in range(WAITS)])
    found = [(await next(over)).json["messages"][0]["body"] for _ in range(WAITS)]
    assert sorted(map(int, found)) == list(range(WAITS))


async def test_clients_that_keep_their_slots_busy_leave_operators_theirs(
    broker: Cluster, client: Client, queue: str
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * SLOTS))
    shard = (await client.create(queue))["shard"]
    operator = make_key(broker, {"*": {"admin"}})
    assert (await call(broker.node, "GET", "/api/nodes", headers=operator.headers)).status == 200
    body = {"queue": queue, "message": "m"}
    with locked(broker, "SELECT FROM queues_counter WHERE queue_id = %s FOR UPDATE", shard):
        posts = [asyncio.create_task(call(broker.node, "POST", "/api/messages", body)) for _ in range(SLOTS + 2)]
        await asyncio.sleep(0)
        for _ in range(SLOTS):  # so that the posts have come in
            assert (await call(broker.node, "GET", "/api/nodes", headers=operator.headers)).status == 200
    assert {(await post).status for post in posts} == {201}


async def test_a_caller_that_has_gone_takes_nothing(broker: Cluster, client: Client, queue: str) -> None:
    shard = (await client.create(queue))["shard"]
    _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(broker.node.http_url).port)
    body = b'{"queue": "%s", "timeout": 30}' % queue.encode()
    writer.write(
        b"POST /api/messages/pop/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    await wait_for_places(broker, shard, 1)
    writer.transport.abort()
    await wait_for_places(broker, shard, None)
    await client.post(queue, "still there")
    assert (await client.pop(queue))["body"] == "still there"
