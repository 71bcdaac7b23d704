"""Registered clients: what a client reads, and how far it has come, outlives its connections."""

import json
from datetime import datetime
from urllib.request import urlopen

import pytest

from tests.support.client import Client, Fields
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from willow_site.processes import wait_until

LABEL = 700  # of subscriptions that outlive their connection
CLIENTS = "SELECT name FROM clients_client WHERE name LIKE %s ORDER BY name"
GROW_OLD = "UPDATE clients_client SET defined_at = now() - interval '8 days' WHERE name LIKE %s AND name NOT LIKE %s"


def bodies(messages: list[Fields]) -> list[str]:
    return [message["body"] for message in messages]


# the record


@pytest.mark.parametrize("persistent", [True, False])
async def test_a_first_registration_defines_the_client(
    broker: Cluster, client: Client, name: str, persistent: bool
) -> None:
    label = await client.begin_registering(name, persistent=persistent)
    record = await client.next(label)
    [(defined_at,)] = broker.query("SELECT defined_at FROM clients_client WHERE name = %s", name)
    assert datetime.fromisoformat(record.pop("defined_at")) == defined_at
    assert record == {
        "type": "registered",
        "label": label,
        "name": name,
        "persistent": persistent,
        "subscribed_to": [],
    }


async def test_what_is_posted_behind_a_register_is_stored_though_the_client_leaves_at_once(
    client: Client, other: Client, queue: str, name: str
) -> None:
    await other.create(queue)
    register = {"type": "register", "name": name, "persistent": True, "label": 100}
    await client.send(register, {"type": "post", "queue": queue, "message": "m"})
    await client.close()
    assert (await other.fetch(queue, block_timeout=30))["body"] == "m"


async def test_a_subscription_that_is_ended_in_the_frame_that_makes_it_is_not_taken_up_again(
    client: Client, other: Client, queue: str, name: str
) -> None:
    await client.send(
        {"type": "register", "name": name, "persistent": True, "label": 100},
        {"type": "subscribe", "queue": queue, "label": LABEL},
        {"type": "unsubscribe", "label": LABEL},
    )
    await client.expect(LABEL, type="subscribed")
    await client.close()
    assert (await other.register_when_free(name))["subscribed_to"] == []


async def test_a_client_stays_defined_when_it_comes_back(client: Client, other: Client, name: str) -> None:
    first = await client.register(name)
    await client.close()
    again = await other.register_when_free(name)
    assert again["defined_at"] == first["defined_at"]


async def test_the_record_tells_of_each_queue_what_is_acknowledged_and_what_outstanding(
    broker: Cluster, client: Client, queue: str, name: str
) -> None:
    stream = f"{queue}-stream"
    await client.create(stream, tags=["b", "a"], kind="stream")
    await client.register(name)
    for each, tags in ((queue, []), (stream, ["a", "b"])):
        label = await client.subscribe(each, tags=tags)
        await client.post_all(each, ["1", "2", "3", "4"], tags=tags)
        first, _, third, _ = await client.messages(label, 4)
        await client.finish(third)
        await client.finish(first)
    assert wait_until(lambda: _acknowledged(broker, name) == [3, 3], PATIENCE)
    expected = [
        {"name": queue, "tags": [], "acked_index": 3, "outstanding_index": [2, 4]},
        {"name": stream, "tags": ["a", "b"], "acked_index": 3, "outstanding_index": [2, 4]},
    ]
    record = await client.register(name)
    assert record["subscribed_to"] == expected
    shown = _shown_over_http(broker, name)
    assert shown["subscribed_to"] == expected
    assert (shown["node"], shown["defined_at"]) == (client.node, record["defined_at"])


def _shown_over_http(broker: Cluster, name: str) -> Fields:
    with urlopen(f"{broker.node.http_url}/api/clients/{name}/") as answer:
        return json.load(answer)


def _acknowledged(broker: Cluster, name: str) -> list[int]:
    rows = broker.query(
        "SELECT acked_index FROM clients_position p JOIN clients_client c ON c.id = p.client_id WHERE c.name = %s",
        name,
    )
    return [index for (index,) in rows]


# refusals


@pytest.mark.parametrize("persistent", [True, False])
async def test_a_name_has_one_persistence(client: Client, name: str, persistent: bool) -> None:
    await client.register(name, persistent=persistent)
    label = await client.begin_registering(name, persistent=not persistent)
    await client.expect(label, type="error", code="ObjectAlreadyExists", key=name)
    assert (await client.register(name, persistent=persistent))["persistent"] is persistent


async def test_a_client_has_one_live_session_and_others_are_told_where(
    three_nodes: Cluster, connect: Connect, name: str
) -> None:
    serving = three_nodes.nodes[0]
    await (await connect(serving)).register(name)
    for node in (serving, three_nodes.nodes[1]):
        second = await connect(node)
        label = await second.begin_registering(name)
        await second.expect(label, type="error", code="PermissionDenied", key=serving.name)
        await second.register(f"{name}-{node.name}")  # nothing else is wrong with it


# coming back


@pytest.mark.parametrize("persistent", [True, False])
async def test_a_client_that_comes_back_reads_on_without_subscribing(
    client: Client, connect: Connect, queue: str, name: str, persistent: bool
) -> None:
    reader = await connect()
    await reader.register(name, persistent=persistent)
    await reader.subscribe(queue, tags=["a"], match="strict", in_flight=2, label=LABEL)
    await reader.close()
    await client.post_all(queue, ["1", "2", "3"], tags=["a", "b"])
    back = await connect()
    record = await back.register_when_free(name, persistent=persistent)
    assert record["subscribed_to"] == [{"name": queue, "tags": ["a", "b"], "acked_index": 0, "outstanding_index": []}]
    assert bodies(await back.messages(LABEL, 2)) == ["1", "2"]
    assert (await client.fetch(queue))["body"] == "3"
    assert back.unread(LABEL) == []


async def test_a_subscription_that_was_ended_does_not_come_back(
    client: Client, connect: Connect, queue: str, name: str
) -> None:
    reader = await connect()
    await reader.register(name)
    await reader.subscribe(queue, label=LABEL)
    await reader.send({"type": "unsubscribe", "label": LABEL})
    await reader.close()
    back = await connect()
    assert (await back.register_when_free(name))["subscribed_to"] == []
    await client.post(queue, "m")
    assert (await client.fetch(queue))["body"] == "m"


async def test_a_client_that_comes_back_may_give_its_labels_to_other_subscriptions(
    client: Client, connect: Connect, queue: str, name: str
) -> None:
    first, second = f"{queue}-1", f"{queue}-2"
    reader = await connect()
    await reader.register(name)
    await reader.subscribe(first, label=LABEL)
    await reader.subscribe(second, label=LABEL + 1)
    await reader.close()
    back = await connect()
    await back.register_when_free(name)
    await back.subscribe(first, label=LABEL + 1)
    await back.subscribe(second, label=LABEL)
    await back.close()
    restored = await connect()
    assert len((await restored.register_when_free(name))["subscribed_to"]) == 2
    for read, label in ((first, LABEL + 1), (second, LABEL)):
        await client.post(read, "m")
        await restored.expect(label, type="message", queue=read)


async def test_subscriptions_that_began_before_registering_are_kept_too(
    client: Client, connect: Connect, queue: str, name: str
) -> None:
    reader = await connect()
    await reader.subscribe(queue, label=LABEL)
    record = await reader.register(name)
    assert [read["name"] for read in record["subscribed_to"]] == [queue]
    await reader.close()
    back = await connect()
    await back.register_when_free(name)
    await client.post(queue, "m")
    await back.expect(LABEL, body="m")


async def test_what_a_client_held_is_sent_again_before_anything_else_on_any_node(
    three_nodes: Cluster, connect: Connect, queue: str, name: str
) -> None:
    here, elsewhere, _ = three_nodes.nodes
    poster, reader = await connect(here), await connect(here, hold=60)
    await reader.register(name)
    await reader.subscribe(queue, in_flight=3, label=LABEL)
    await poster.post_all(queue, ["1", "2"])
    await reader.messages(LABEL, 2)
    await reader.close()
    back = await connect(elsewhere)
    await poster.post_all(queue, ["urgent", "beyond in_flight"], priority=9)
    record = await back.register_when_free(name)
    assert record["subscribed_to"][0]["outstanding_index"] == [1, 2]
    messages = await back.messages(LABEL, 3)
    assert [(message["body"], message["attempt"]) for message in messages] == [("1", 1), ("2", 1), ("urgent", 1)]
    assert (await poster.fetch(queue))["body"] == "beyond in_flight"
    for message in messages:
        await back.finish(message)


async def test_what_a_client_fetched_is_sent_again_too(
    three_nodes: Cluster, connect: Connect, queue: str, name: str
) -> None:
    reader = await connect(three_nodes.nodes[0], hold=60)
    await reader.register(name)
    await reader.post(queue, "m", tags=["t"])
    await reader.fetch(queue)
    await reader.close()
    back = await connect(three_nodes.nodes[1])
    await back.register_when_free(name)
    message = await back.expect(None, type="message", body="m", queue=queue, tags=["t"])
    await back.finish(message)


async def test_what_this_connection_holds_already_is_not_sent_again(client: Client, queue: str, name: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.register(name)
    await client.finish(message)
    assert client.unread() == []


async def test_commands_behind_a_register_in_its_frame_are_those_of_the_registered_client(
    client: Client, other: Client, queue: str, name: str
) -> None:
    await other.create(queue, kind="stream")
    await other.register(f"{name}-other")
    await other.subscribe(queue)  # so that the broker need not look for it
    await client.send(
        {"type": "register", "name": name, "persistent": True, "label": 101},
        {"type": "subscribe", "queue": queue, "label": 102},
    )
    await client.expect(101, type="registered")
    await client.expect(102, type="subscribed")


async def test_a_restored_subscription_can_be_ended_in_the_frame_that_registers(
    broker: Cluster, client: Client, other: Client, queue: str, name: str
) -> None:
    await client.register(name)
    await client.subscribe(queue, label=LABEL)
    await client.close()
    assert wait_until(lambda: not _is_connected(broker, name), PATIENCE)
    await other.send(
        {"type": "register", "name": name, "persistent": True, "label": 101},
        {"type": "unsubscribe", "label": LABEL},
        {"type": "register", "name": name, "persistent": True, "label": 102},
    )
    record = await other.expect(101, type="registered")
    assert [read["name"] for read in record["subscribed_to"]] == [queue]
    await other.expect(102, type="registered", subscribed_to=[])
    assert other.unread() == []


def _is_connected(broker: Cluster, name: str) -> bool:
    return bool(
        broker.query(
            "SELECT FROM clients_session s JOIN clients_client c ON c.id = s.client_id WHERE c.name = %s", name
        )
    )


# retention


async def test_an_old_transient_client_that_left_is_forgotten_with_its_subscriptions(
    broker: Cluster, connect: Connect, queue: str, name: str
) -> None:
    clients: dict[str, Client] = {}
    for kind, persistent in (("gone", False), ("persistent", True), ("connected", False), ("young", False)):
        clients[kind] = await connect()
        await clients[kind].register(f"{name}-{kind}", persistent=persistent)
        await clients[kind].subscribe(queue)
    for kind in ("gone", "persistent", "young"):
        await clients[kind].close()
    broker.query(GROW_OLD, f"{name}%", "%young")  # WILLOW_TRANSIENT_RETENTION is 7 days by default
    kept = [(f"{name}-{kind}",) for kind in ("connected", "persistent", "young")]
    assert wait_until(lambda: broker.query(CLIENTS, f"{name}%") == kept, PATIENCE)
    assert len(broker.query("SELECT 1 FROM clients_subscription WHERE name = %s", queue)) == len(kept)


async def test_a_client_was_last_seen_when_it_left(broker: Cluster, connect: Connect, name: str) -> None:
    client = await connect()
    await client.next(await client.begin_registering(name, persistent=True))
    await client.close()
    left = "SELECT last_seen_at > defined_at FROM clients_client WHERE name = %s"
    assert wait_until(lambda: broker.query(left, name) == [(True,)], PATIENCE)
