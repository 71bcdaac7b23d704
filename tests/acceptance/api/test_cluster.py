"""/api/clients, sessions, services, nodes, journal and audit on a real node."""

from delivery.protocol.close_codes import CLOSED_BY_OPERATOR
from tests.acceptance.api.conftest import Call
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.http import call
from tests.support.keys import ClientKey, make_key
from tests.support.workers import working


async def test_clients_and_their_records(api: Call, client: Client, queue: str, name: str) -> None:
    await client.register(name)
    await client.subscribe(queue)
    [listed] = (await api("GET", "clients", prefix=name)).json["results"]
    assert (listed["name"], listed["persistent"], listed["node"]) == (name, True, client.node)
    for path in (f"clients/{name}/", f"clients/{name}"):
        record = (await api("GET", path)).json
        assert (record["name"], record["node"], record["subscribed_to"][0]["name"]) == (name, client.node, queue)
    unknown = await api("GET", "clients/nobody/")
    assert (unknown.status, unknown.json["type"], unknown.json["code"]) == (404, "error", "NoObject")


async def test_a_session_is_shown_failed_and_disconnected(
    api: Call, connect: Connect, client: Client, queue: str, name: str
) -> None:
    victim = await connect()
    await victim.register(name)
    await client.post(queue, "m")
    await victim.fetch(queue)
    [session] = (await api("GET", "sessions", client=name)).json["results"]
    assert (session["state"], session["node"]) == ("live", victim.node)
    assert victim.id not in str(session)
    path = f"sessions/{session['id']}"
    assert (await api("GET", path)).json["held_messages"] == 1
    assert (await api("POST", f"{path}/fail-messages")).json["done"] == 1
    assert (await client.fetch(queue, block_timeout=30))["attempt"] == 2
    assert (await api("POST", f"{path}/disconnect")).status == 200
    assert await victim.closed_by_broker() == CLOSED_BY_OPERATOR
    assert (await api("GET", "sessions/999999999")).status == 404


async def test_an_operators_action_on_one_node_is_heard_on_the_others(
    three_nodes: Cluster, connect: Connect, queue: str
) -> None:
    """The second node hears of it by a hint of the first."""
    first, second, _ = three_nodes.nodes
    headers = make_key(three_nodes, {"*": {"admin"}}).headers
    client = await connect(second)
    stored = await client.post(queue, "late", delay=3600)
    fetching = await client.begin("fetch", queue, block_timeout=30)
    wish = {"filter": {"shard": stored["shard"]}}
    answer = await call(first, "POST", "/api/messages/retry", wish, headers=headers)
    assert answer.json["done"] == 1
    await client.expect(fetching, type="message", body="late")


async def test_services_and_their_workers(api: Call, client: Client, service: str) -> None:
    await working(client, service, identity="w1", slots=3)
    listed = [one["name"] for one in (await api("GET", "services", limit=1000)).json["results"]]
    assert service in listed
    for path in (f"services/{service}", f"services/{service}/"):
        shown = (await api("GET", path)).json
        assert (shown["workers"], shown["waiting"]) == (1, 0)
        assert [(worker["identity"], worker["slots"]) for worker in shown["line"]] == [("w1", 3)]
    assert (await api("GET", "services/none")).status == 404


async def test_nodes(api: Call, broker: Cluster) -> None:
    [node] = (await api("GET", "nodes")).json["results"]
    assert (node["name"], node["alive"], node["draining"]) == (broker.node.name, True, False)


async def test_the_journal_of_one_queue_and_of_all(api: Call, client: Client, queue: str) -> None:
    for body in ("a", "b", "c"):
        await client.post(queue, body)
        await client.finish(await client.fetch(queue))
    page = (await api("GET", "journal", queue=queue, limit=2)).json
    assert [(row["index"], row["outcome"], row["size"]) for row in page["results"]] == [
        (3, "finished", 1),
        (2, "finished", 1),
    ]
    rest = (await api("GET", "journal", queue=queue, limit=2, cursor=page["next"])).json
    assert ([row["index"] for row in rest["results"]], rest["next"]) == ([1], None)
    everything = (await api("GET", "journal", limit=3, outcome="finished")).json["results"]
    assert {(row["queue"], row["index"]) for row in everything} == {(queue, 1), (queue, 2), (queue, 3)}
    assert (await api("GET", "journal", queue=queue, index=2)).json["results"][0]["index"] == 2
    assert (await api("GET", "journal", queue=queue, outcome="dead")).json["results"] == []
    assert (await api("GET", "journal", index=2)).json["key"] == "index"


async def test_what_operators_did_is_there_under_their_name(
    api: Call, client: Client, operator_key: ClientKey, queue: str
) -> None:
    shard = (await client.post(queue, "m"))["shard"]
    await api("POST", f"queues/{shard}/purge")
    [entry] = (await api("GET", "audit", target=queue)).json["results"]
    assert (entry["actor"], entry["actor_kind"], entry["action"], entry["messages"]) == (
        operator_key.client,
        "key",
        "purge queue",
        1,
    )


async def test_facts_are_there_for_whom_they_concern(api: Call, broker: Cluster, client: Client, queue: str) -> None:
    shard = (await client.create(queue))["shard"]
    for hour in range(3):
        broker.query(
            "INSERT INTO willow_queue_facts (grain, bucket, queue_id, queue_name, queue_tags, finished)"
            " VALUES ('hour', timestamptz '2030-01-01T00:00Z' + %s * interval '1 hour', %s, %s, '{}', %s)",
            hour,
            shard,
            queue,
            hour,
        )
    page = (await api("GET", "facts/queues", shard=shard, limit=2)).json
    assert [row["finished"] for row in page["results"]] == [2, 1]
    rest = (await api("GET", "facts/queues", shard=shard, limit=2, cursor=page["next"])).json
    assert ([row["finished"] for row in rest["results"]], rest["next"]) == ([0], None)
    since = (await api("GET", "facts/queues", queue=queue, since="2030-01-01T02:00:00Z")).json["results"]
    assert [row["finished"] for row in since] == [2]
    kinds = (await api("GET", "facts")).json["results"]
    assert len(kinds) == 7
    for address in kinds:
        assert (await api("GET", address.removeprefix("/api/"))).status == 200
