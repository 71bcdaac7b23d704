"""Quotas of keys: what goes beyond them is refused as `Overloaded`, and others notice nothing."""

import asyncio
import json
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.http import call
from tests.support.keys import ClientKey, make_key

EVERYTHING = {"*": {"post", "fetch", "create"}}


def key_with(cluster: Cluster, **quotas: int) -> ClientKey:
    key = make_key(cluster, EVERYTHING)
    set_quotas(key, **quotas)
    return key


def set_quotas(key: ClientKey, **quotas: int) -> None:
    key.cluster.query("UPDATE clients_key SET quotas = %s::jsonb WHERE id = %s", json.dumps(quotas), key.id)


async def is_refused(client: Client, quota: str, command: str, queue: str, **fields: Any) -> None:
    await client.expect(await client.begin(command, queue, **fields), type="error", code="Overloaded", key=quota)


async def test_a_key_defines_so_many_queues(broker: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(headers=key_with(broker, queues=3).headers)
    await client.create(f"{queue}-1")
    await client.post(f"{queue}-2", "m")
    await client.finds_nothing(f"{queue}-3")
    for command in ("create", "fetch", "subscribe"):
        await is_refused(client, f"{queue}-4", command, f"{queue}-4")
    await is_refused(client, f"{queue}-4", "post", f"{queue}-4", message="m")
    await client.post(f"{queue}-1", "those that are there go on")
    other = await connect(headers=key_with(broker, queues=1).headers)
    await other.create(f"{queue}-4")


async def test_queues_of_one_batch_count_too(broker: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(headers=key_with(broker, queues=3).headers)
    await client.send([{"type": "create", "queue": f"{queue}-{number}", "label": number} for number in range(12)])
    answers = [await client.expect(number) for number in range(12)]
    assert sum(answer["type"] == "queue" for answer in answers) == 3
    assert {answer["code"] for answer in answers if answer["type"] != "queue"} == {"Overloaded"}
    assert broker.query("SELECT count(*) FROM queues_queue WHERE starts_with(name, %s)", queue) == [(3,)]


async def test_a_key_registers_so_many_names(broker: Cluster, connect: Connect, name: str) -> None:
    key = key_with(broker, clients=2)
    for number in range(2):
        await (await connect(headers=key.headers)).register(f"{name}-{number}")
    late = await connect(headers=key.headers)
    label = await late.begin_registering(f"{name}-2")
    await late.expect(label, type="error", code="Overloaded", key="clients")
    await late.register(key.client)  # its own name does not count
    assert broker.query("SELECT count(*) FROM clients_client WHERE name = %s", f"{name}-2") == [(0,)]


async def test_a_key_has_so_many_connections(broker: Cluster, connect: Connect) -> None:
    key = key_with(broker, connections=2)
    first, _ = [await connect(headers=key.headers) for _ in range(2)]
    refused = await connect(headers=key.headers)
    assert (refused.greeting["code"], refused.greeting["key"]) == ("Overloaded", "connections")
    assert await refused.closed_by_broker() == 4400
    await first.close()
    async with asyncio.timeout(PATIENCE):
        while not (await connect(headers=key.headers)).id:
            await asyncio.sleep(LOOK_SECONDS)


@pytest.mark.parametrize(
    ("quota", "size"), [({"waiting_messages": 3}, 1), ({"waiting_bytes": 3000}, 1000)], ids=lambda value: str(value)
)
async def test_what_a_key_posted_and_nobody_took_has_a_bound(
    broker: Cluster, connect: Connect, client: Client, queue: str, quota: dict[str, int], size: int
) -> None:
    [name] = quota
    poster = await connect(headers=key_with(broker, **quota).headers)
    for _ in range(3):
        await poster.post(queue, "x" * size)
    await is_refused(poster, name, "post", queue, message="x" * size, notify=["sync"])
    await client.post(queue, "others go on")
    if name == "waiting_bytes":
        return
    await client.pop(queue)
    async with asyncio.timeout(PATIENCE):  # what was taken is noticed at the next count
        while (await poster.next(await poster.begin("post", queue, message="x" * size, notify=["sync"])))[
            "type"
        ] != "notice":
            await asyncio.sleep(LOOK_SECONDS)


async def count_what_waits(broker: Cluster, connect: Connect, client: Client, queue: str) -> None:
    """Until the node has counted: a key that used up its quota may post again once its message was taken."""
    poster = await connect(headers=key_with(broker, waiting_messages=1).headers)
    await poster.post(queue, "m")
    await client.pop(queue)
    async with asyncio.timeout(PATIENCE):
        while (await poster.next(await poster.begin("post", queue, message="m", notify=["sync"])))["type"] != "notice":
            await asyncio.sleep(LOOK_SECONDS)


async def test_what_was_posted_over_http_goes_on_counting(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    key, body = key_with(broker, waiting_messages=3), {"queue": queue, "message": "m"}
    for _ in range(3):
        assert (await call(broker.node, "POST", "/api/messages", body, headers=key.headers)).status == 201
    await count_what_waits(broker, connect, client, f"{queue}-other")
    refused = await call(broker.node, "POST", "/api/messages", body, headers=key.headers)
    assert (refused.status, refused.json["key"]) == (429, "waiting_messages")
    moved = broker.query("SELECT id FROM queues_queue WHERE name = %s", f"{queue}-other")[0][0]
    operator, chosen = make_key(broker, {"*": {"admin"}}), {"filter": {"queue": queue}, "to": moved}
    tally = await call(broker.node, "POST", "/api/messages/move", chosen, headers=operator.headers)
    assert tally.json["done"] == 3
    await count_what_waits(broker, connect, client, f"{queue}-third")
    assert (await call(broker.node, "POST", "/api/messages", body, headers=key.headers)).status == 429, "wherever it is"


async def test_dead_letters_count_for_who_posted_them(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    by_socket, over_http = (key_with(broker, waiting_messages=2) for _ in range(2))
    poster = await connect(headers=by_socket.headers)
    for _ in range(2):
        await poster.post(queue, "m", ttl=0.01)
        body = {"queue": queue, "message": "m", "ttl": 0.01}
        assert (await call(broker.node, "POST", "/api/messages", body, headers=over_http.headers)).status == 201
    dead = "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s"
    async with asyncio.timeout(PATIENCE):
        while broker.query(dead, f"{queue}.dead") != [(4,)]:
            await asyncio.sleep(LOOK_SECONDS)
    await count_what_waits(broker, connect, client, f"{queue}-other")
    await is_refused(poster, "waiting_messages", "post", queue, message="m")
    refused = await call(broker.node, "POST", "/api/messages", body, headers=over_http.headers)
    assert (refused.status, refused.json["key"]) == (429, "waiting_messages")


async def test_callers_without_a_key_have_quotas_together(
    start_cluster: StartCluster, connect: Connect, queue: str, name: str
) -> None:
    with start_cluster(WILLOW_ANONYMOUS_QUOTAS="waiting_messages=2,clients=2") as cluster:
        key = make_key(cluster, EVERYTHING)
        for number in range(2):
            await (await connect(cluster.node)).register(f"{name}-{number}")
        await (await connect(cluster.node, headers=key.headers)).register(f"{name}-of-a-key")
        late = await connect(cluster.node)
        await late.expect(await late.begin_registering(f"{name}-2"), type="error", code="Overloaded", key="clients")
        for _ in range(2):
            await call(cluster.node, "POST", "/api/messages", {"queue": queue, "message": "m"})
        reader = await connect(cluster.node, headers=key.headers)
        await count_what_waits(cluster, partial(connect, cluster.node), reader, f"{queue}-other")
        refused = await call(cluster.node, "POST", "/api/messages", {"queue": queue, "message": "m"})
        assert (refused.status, refused.json["key"]) == (429, "waiting_messages")


@pytest.mark.parametrize(
    ("quota", "queues", "size"), [("posts_per_second", 60, 1), ("bytes_per_second", 1, 1000)], ids=["posts", "bytes"]
)
async def test_a_key_posts_at_its_rate(
    broker: Cluster, connect: Connect, client: Client, queue: str, quota: str, queues: int, size: int
) -> None:
    """The first post takes what comes back in a minute, so none passes after it, however slow this machine is."""
    key = key_with(broker, **{quota: 1})
    poster = await connect(headers=key.headers)
    label = await poster.begin("post", [f"{queue}-{number}" for number in range(queues)], message="x" * size)
    await poster.heard_everything()
    assert not poster.unread(label)
    await is_refused(poster, quota, "post", queue, message="x")
    body = {"queue": queue, "message": "x"}
    answer = await call(broker.node, "POST", "/api/messages", body, headers=key.headers)
    assert (answer.status, answer.json["key"]) == (429, quota), "the same bucket, however one posts"
    await client.post(queue, "others go on")


async def test_a_keys_subscriptions_read_so_many_queues(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    for number in range(3):
        await client.create(queue, tags=[str(number)])
    reader = await connect(headers=key_with(broker, readings=5).headers)
    await reader.subscribe(queue)
    await is_refused(reader, "readings", "subscribe", queue, tags=["0", "1", "2"], match="any")
    await reader.subscribe(queue, tags=["0"])
    await client.post(queue, "m", tags=["2"])


async def test_a_change_holds_for_open_connections(broker: Cluster, connect: Connect, queue: str) -> None:
    key = key_with(broker)
    poster = await connect(headers=key.headers)
    await poster.post(queue, "m")
    set_quotas(key, waiting_messages=1)
    async with asyncio.timeout(PATIENCE):
        while (await poster.next(await poster.begin("post", queue, message="m", notify=["sync"])))["type"] != "error":
            pass


async def test_quotas_and_addresses_over_rest(broker: Cluster) -> None:
    key, operator = key_with(broker, queues=7), make_key(broker, {"*": {"admin"}})
    path = f"/api/keys/{key.id}"
    shown = (await call(broker.node, "GET", path, headers=operator.headers)).json
    assert (shown["own_quotas"], shown["quotas"]["queues"], shown["quotas"]["connections"]) == ({"queues": 7}, 7, 1000)
    change = {"quotas": {"connections": 5}, "addresses": ["10.0.0.0/8"]}
    changed = (await call(broker.node, "PATCH", path, change, headers=operator.headers)).json
    assert (changed["own_quotas"], changed["addresses"]) == ({"connections": 5}, ["10.0.0.0/8"])
    wish = {"client": "made-with-quotas", "quotas": {"queues": 3}, "addresses": ["10.0.0.0/8"]}
    made = (await call(broker.node, "POST", "/api/keys", wish, headers=operator.headers)).json
    assert (made["own_quotas"], made["quotas"]["queues"], made["addresses"]) == ({"queues": 3}, 3, ["10.0.0.0/8"])
    for wrong in ({"quotas": {"conections": 1}}, {"quotas": {"queues": -1}}, {"addresses": ["10.0.0.1/8"]}):
        assert (await call(broker.node, "PATCH", path, wrong, headers=operator.headers)).status == 400
        wish = {"client": "made-with-quotas", **wrong}
        assert (await call(broker.node, "POST", "/api/keys", wish, headers=operator.headers)).status == 400
    for method in ("GET", "PATCH"):
        assert (await call(broker.node, method, path, {}, headers=make_key(broker, EVERYTHING).headers)).status == 403


async def test_a_key_is_good_from_its_addresses_only(broker: Cluster, connect: Connect) -> None:
    key = make_key(broker, EVERYTHING)
    client = await connect(headers=key.headers)
    broker.query("UPDATE clients_key SET addresses = '{10.0.0.0/8}' WHERE id = %s", key.id)
    assert await client.closed_by_broker() == 4401
    refused = await connect(headers=key.headers, greets=False)
    assert await refused.closed_by_broker() == 4401
    assert (await call(broker.node, "GET", "/status/x", headers=key.headers)).status == 401
    broker.query("UPDATE clients_key SET addresses = '{127.0.0.0/8,::1/128}' WHERE id = %s", key.id)
    assert (await connect(headers=key.headers)).id


# It writes no heartbeats, and must not lapse before anybody has looked.
ANOTHER_NODE = "INSERT INTO clients_node (name, url, heartbeat_at) VALUES ('another', '', now() + interval '1 hour')"


async def until_refused(cluster: Cluster, queue: str, alarm: str) -> None:
    """By `willow_post`, as soon as a heartbeat has told the database."""
    with pytest.raises(psycopg.errors.InsufficientResources, match=f"short of {alarm}"):
        async with asyncio.timeout(PATIENCE):
            while True:
                cluster.query("SELECT willow_post(%s, 'm'::text)", queue)
                await asyncio.sleep(LOOK_SECONDS)


async def until_taken(cluster: Cluster, queue: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                cluster.query("SELECT willow_post(%s, 'm'::text)", queue)
            except psycopg.errors.InsufficientResources:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return


@pytest.mark.parametrize(
    ("setting", "value", "alarm"),
    [("WILLOW_MEMORY_ALARM", "0.000001", "memory"), ("WILLOW_DISK_ALARM_BYTES", str(2**50), "disk")],
)
async def test_a_node_that_is_short_refuses_posts_and_nothing_else(
    start_cluster: StartCluster, connect: Connect, queue: str, setting: str, value: str, alarm: str
) -> None:
    with start_cluster(**{setting: value}) as cluster:
        cluster.query("INSERT INTO clients_client (name, persistent) VALUES ('x', true)")
        client = await connect(cluster.node)
        async with asyncio.timeout(PATIENCE):
            while (answer := await client.next(await client.begin("post", queue, message="m", notify=["sync"])))[
                "type"
            ] != "error":
                await asyncio.sleep(LOOK_SECONDS)
        assert (answer["code"], answer["key"]) == ("Overloaded", alarm)
        await client.create(f"{queue}-new")
        label = await client.begin("pop", queue)
        assert (await client.next(label))["type"] in ("message", "nomessage")
        assert (await call(cluster.node, "GET", "/readyz")).status in (200, 503)
        metrics = (await call(cluster.node, "GET", "/metrics")).content.decode()
        assert f'willow_alarm{{node="node-0",of="{alarm}"}} 1.0' in metrics
        await until_refused(cluster, queue, alarm)
        cluster.query(ANOTHER_NODE)  # that is short of nothing
        await until_taken(cluster, queue)
        cluster.query("DELETE FROM clients_node WHERE name = 'another'")
        await until_refused(cluster, queue, alarm)
        cluster.node.kill()  # nobody is left to say that it is over
        await until_taken(cluster, queue)
        await client.close()
