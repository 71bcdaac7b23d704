"""What a broker writes to its log when things go wrong: enough to find the command, and never a body or a key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.keys import ClientKey, make_key
from tests.support.scrapes import fetch

BODY = "a-body-that-nobody-else-may-read"


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """It logs all that there is to log, and its storage refuses bodies that are too long."""
    with start_cluster(reaper=True, WILLOW_LOG_FORMAT="json", WILLOW_LOG_LEVEL="debug") as cluster:
        cluster.query("ALTER TABLE delivery_message ADD CONSTRAINT short CHECK (length(body) < 100)")
        yield cluster


@pytest.fixture(scope="module")
def key(cluster: Cluster) -> ClientKey:
    return make_key(cluster, {"*": {"post", "fetch", "create"}})


@pytest.fixture
async def client(cluster: Cluster, connect: Connect, key: ClientKey) -> Client:
    return await connect(cluster.node, headers=key.headers)


def lines(cluster: Cluster) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cluster.node.log.read_text().splitlines()]


async def refused_post(client: Client, queue: str) -> int:
    label = await client.begin("post", queue, message=BODY * 4, notify=["sync"])
    await client.expect(label, type="error", code="BadRequest")
    return label


async def test_a_refused_command_can_be_found(cluster: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "short enough")
    label = await refused_post(client, queue)
    [(session,)] = cluster.query("SELECT id FROM clients_session WHERE token = %s", client.id)
    [line] = [line for line in lines(cluster) if line.get("session") == session]
    assert (line["level"], line["logger"], line["label"]) == ("error", "delivery.storage.lanes", label)
    assert "violates check constraint" in line["message"]
    assert line["node"] == cluster.node.name


async def test_a_request_over_http_can_be_found(cluster: Cluster) -> None:
    status, _, headers = fetch(cluster.node, "/nowhere", X_Request_ID="from-the-proxy.1")
    assert (status, headers["x-request-id"]) == (404, "from-the-proxy.1")
    assert [line["message"] for line in lines(cluster) if line.get("request_id") == "from-the-proxy.1"] == [
        "Not Found: /nowhere"
    ]


async def test_an_id_that_could_forge_a_line_is_replaced(cluster: Cluster) -> None:
    given = 'x" y'
    _, _, headers = fetch(cluster.node, "/healthz", X_Request_ID=given)
    assert headers["x-request-id"] not in ("", given)


async def test_neither_bodies_nor_keys_are_written(
    cluster: Cluster, connect: Connect, client: Client, key: ClientKey, queue: str
) -> None:
    await refused_post(client, queue)
    await client.send({"type": "post", "queue": queue, "message": [BODY]})
    await client.expect(None, code="BadRequest")
    await client.socket.send(f'{{"type": "post", "message": "{BODY}"')
    await client.expect(None, code="BadRequest")
    await client.post(queue, BODY)
    await client.fail(await client.fetch(queue), error="no luck")
    await connect(cluster.node, token=key.secret)
    fetch(cluster.node, f"/nowhere?token={key.secret}", Authorization=f"Token {key.secret}")
    fetch(cluster.node, f"/status/{queue}?token={key.secret}x")
    assert lines(cluster)
    log = cluster.node.log.read_text()
    for secret in (BODY, BODY.encode().hex(), key.secret, cluster._environ["SECRET_KEY"]):
        assert secret not in log


async def test_a_refused_connection_leaves_a_line(cluster: Cluster, connect: Connect) -> None:
    refused = await connect(cluster.node, headers={"Authorization": "Token wk_0123456789abcdef"}, greets=False)
    assert await refused.closed_by_broker() == 4401
    found = [line for line in lines(cluster) if line["logger"] == "delivery.gateway.refused"]
    assert [(line["level"], line["address"]) for line in found] == [("warning", "127.0.0.1")]
    assert "a key that is not valid" in found[0]["message"]
    assert "wk_0123456789abcdef" not in cluster.node.log.read_text()


async def test_refused_requests_leave_a_few_short_lines(cluster: Cluster) -> None:
    """The last of these tests: others expect lines of their own."""
    for _ in range(30):
        assert fetch(cluster.node, f"/{'x' * 5000}")[0] == 404
    found = [line["message"] for line in lines(cluster) if line["logger"] == "django.request"]
    assert any(line.startswith("Not Found: /xxx") for line in found)
    assert sum("xxx" in line for line in found) < 30
    assert max(map(len, found)) < 500
