"""One client keeps the node busy, or asks for too much: the others are served as if it were not there."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest

from delivery.commands.release import RELEASED_AT_ONCE
from delivery.engine.open_reads import SHARE_OF_CALLER
from delivery.engine.post_lanes import LARGE_BYTES
from delivery.sessions.reads import FEW_SHARE
from tests.support.client import Client, connected
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.http import call
from tests.support.keys import make_key
from tests.support.scrapes import scrape
from willow_site.request_slots import SLOTS

MEBIBYTE = 1024 * 1024
LOOK_SECONDS = 0.02
READINGS = 8
POST_BYTES = 4 * MEBIBYTE
WAITS = 20
NODE_COMMANDS = 4096
CONNECTION_COMMANDS = 1024
QUEUES_OF_A_POST = 64
RELEASED = 3000  # messages by one command
SETTINGS = {
    "WILLOW_NODE_COMMANDS": str(NODE_COMMANDS),
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


async def waiting_in_lane(broker: Cluster, lane: str, least: int) -> float:
    """How many requests wait there, as soon as there are so many."""
    async with asyncio.timeout(PATIENCE):
        while (waiting := scrape(broker.node).value("willow_lane_waiting", lane=lane)) < least:
            await asyncio.sleep(LOOK_SECONDS)
    return waiting


async def test_subscriptions_that_end_at_once_are_under_way_until_their_queues_are_found(
    broker: Cluster, client: Client, queue: str
) -> None:
    labels = [client.label() for _ in range(2 * CONNECTION_COMMANDS)]
    pairs = [
        {"type": kind, "queue": f"{queue}-{label}", "label": label}
        for label in labels
        for kind in ("subscribe", "unsubscribe")
    ]
    with locked(broker, "LOCK TABLE queues_queue IN ACCESS EXCLUSIVE MODE"):
        await client.send(*pairs)
        waiting = await waiting_in_lane(broker, "queues", CONNECTION_COMMANDS // 2)
        assert waiting <= CONNECTION_COMMANDS * 3 // 2
    for label in labels:
        await client.expect(label, type="subscribed")


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


async def test_headers_count_in_each_queue_of_a_post(broker: Cluster, client: Client, queue: str) -> None:
    names = [f"{queue}-{number}" for number in range(64)]
    shards = [(await client.create(name))["shard"] for name in names]
    headers = {f"h-{number}": "x" * 4050 for number in range(4)}  # nearly 16 KiB, so that 64 of them are nearly 1 MiB
    with locked(broker, "SELECT FROM queues_counter WHERE queue_id = %s FOR UPDATE", shards[0]):
        sent = [client.label() for _ in range(6)]
        post = {"type": "post", "queue": names, "message": "x", "headers": headers, "notify": ["sync"]}
        await client.send(*({**post, "label": label} for label in sent))
        answers = [await client.next(label) for label in sent[4:]]
        assert {(answer.get("code"), answer.get("key")) for answer in answers} == {("Overloaded", "node")}
    for label in sent[:4]:
        await client.expect(label, notice="sync")


async def test_replies_count_as_posts_and_one_that_is_refused_can_be_sent_again(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.post_all(queue, ["m"] * 6)
    held = await client.fetch_all(queue, 6)
    finishes = [
        {name: message[name] for name in ("queue", "shard", "sequence", "index")} | {"reply": "x" * MEBIBYTE}
        for message in held
    ]
    with locked(broker, "SELECT FROM delivery_message WHERE queue_id = %s FOR UPDATE", held[0]["shard"]):
        sent = [await client.begin("finish", **fields, response="sync") for fields in finishes]
        answers = [await client.next(label) for label in sent[4:]]
        assert {(answer.get("code"), answer.get("key")) for answer in answers} == {("Overloaded", "node")}
        await other.post(f"{queue}-other", "small")
    for label in sent[:4]:
        await client.expect(label, notice="sync")
    for fields in finishes[4:]:
        await client.expect(await client.begin("finish", **fields, response="sync"), notice="sync")


async def test_of_too_many_messages_under_way_only_those_who_sent_many_are_refused(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    queues = [f"{queue}-{number}" for number in range(QUEUES_OF_A_POST)]
    shard, *_ = [(await client.create(name))["shard"] for name in queues]
    with locked(broker, "SELECT FROM queues_counter WHERE queue_id = %s FOR UPDATE", shard):
        posts = NODE_COMMANDS // QUEUES_OF_A_POST
        sent = [await client.begin("post", queues, message="m", notify=["sync"]) for _ in range(posts)]
        refused = await client.begin("post", queues, message="m")
        await client.expect(refused, type="error", code="Overloaded", key="node")
        modest = await other.begin("post", queues[-1], message="m", notify=["sync"])
        await other.heard_everything()
        assert not other.unread(modest)
    await other.expect(modest, notice="sync")
    for label in sent:
        await client.expect(label, notice="sync")


async def test_a_release_of_very_many_messages_is_taken_in_slices(broker: Cluster, client: Client, queue: str) -> None:
    shard = (await client.create(queue))["shard"]
    unknown = [{"queue": queue, "shard": shard, "sequence": number + 1} for number in range(RELEASED)]
    releases = [{"type": "release", "messages": unknown, "label": client.label()} for _ in range(3)]
    with locked(broker, "LOCK TABLE delivery_message IN ACCESS EXCLUSIVE MODE"):
        await client.send(*releases)
        waiting = await waiting_in_lane(broker, "claims", 1)
        assert waiting < CONNECTION_COMMANDS + 2 * RELEASED_AT_ONCE
    for command in releases:
        errors = [await client.next(command["label"]) for _ in range(RELEASED)]
        assert {error["code"] for error in errors} == {"NoObject"}


async def test_whoever_has_very_many_reads_waiting_leaves_room_for_others(
    broker: Cluster, connect: Connect, queue: str
) -> None:
    greedy = [await connect() for _ in range(4)]
    modest = await connect(headers=make_key(broker, {"*": {"fetch"}}).headers)
    await greedy[0].finds_nothing(queue)  # makes it
    for client in greedy:
        fetch = {"type": "fetch", "queue": queue, "block_timeout": 60}
        await client.send(*(fetch | {"label": client.label()} for _ in range(1024)))
        await client.heard_everything()
    answers = [answer for client in greedy for answer in client.unread()]
    assert {(answer["code"], answer["key"]) for answer in answers} == {("Overloaded", "node")}
    few = CONNECTION_COMMANDS // FEW_SHARE
    assert len(answers) == NODE_COMMANDS // SHARE_OF_CALLER - 2 * few  # of the last two connections
    await modest.finds_nothing(queue)
    await (await connect()).finds_nothing(queue)


@pytest.mark.parametrize("command", ["fetch", "pop"])
async def test_a_connection_waits_for_so_many_queues_and_no_more(
    client: Client, other: Client, queue: str, command: str
) -> None:
    how = {"match": "all", "block_timeout" if command == "fetch" else "timeout": 60}
    for number in range(READINGS // 2):
        await other.create(queue, tags=[str(number)])
    waiting = [await client.begin(command, queue, **how) for _ in range(2)]
    for refused in (await client.begin(command, queue, **how), await client.begin(command, queue, match="all")):
        await client.expect(refused, type="error", code="Overloaded", key="readings")
    await other.post(queue, "m", tags=["0"])
    answers = [asyncio.ensure_future(client.next(label)) for label in waiting]
    [answered], [left] = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
    assert answered.result()["type"] == "message"
    left.cancel()
    await client.expect(await client.begin(command, queue, match="all"), type="nomessage")
    await client.begin(command, f"{queue}-one", **how)  # of a single queue each
    await client.subscribe(f"{queue}-one")


async def test_a_fetch_that_would_wait_for_too_many_new_queues_ends(client: Client, other: Client, queue: str) -> None:
    await other.create(queue, tags=["0"])
    label = await client.begin("fetch", queue, match="all", block_timeout=60)
    await client.heard_everything()
    for number in range(1, READINGS + 1):
        assert not client.unread(label)
        await other.create(queue, tags=[str(number)])
        await client.heard_everything()
    await client.expect(label, type="error", code="Overloaded", key="readings")
    await client.finds_nothing(queue, match="all")  # alone, it may look into any number


async def test_a_key_waits_for_so_many_queues_and_no_more(broker: Cluster, connect: Connect, queue: str) -> None:
    key = make_key(broker, {"*": {"fetch", "create"}})
    broker.query("UPDATE clients_key SET quotas = '{\"readings\": 5}' WHERE id = %s", key.id)
    first, second = [await connect(headers=key.headers) for _ in range(2)]
    for number in range(3):
        await first.create(queue, tags=[str(number)])
    waiting = await first.begin("fetch", queue, match="all", block_timeout=60)
    await first.heard_everything()
    label = await second.begin("fetch", queue, match="all", block_timeout=60)
    await second.expect(label, type="error", code="Overloaded", key="readings")
    body = {"queue": queue, "match": "all", "timeout": 30}
    answer = await call(broker.node, "POST", "/api/messages/fetch/", body, headers=key.headers)
    assert (answer.status, answer.json["key"]) == (429, "readings")
    assert not first.unread(waiting)
    await first.close()
    async with asyncio.timeout(PATIENCE):
        while (await second.next(await second.begin("fetch", queue, match="all")))["type"] != "nomessage":
            await asyncio.sleep(LOOK_SECONDS)


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
