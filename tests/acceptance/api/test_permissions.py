"""Who may do what over REST: the grants of keys, staff, and whoever the rule for anonymous callers lets in."""

from typing import Any

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.http import call
from tests.support.keys import make_key

# For each address, the grant on the queue with which it answers; `operator` is `admin` on all queues.
MATRIX = [
    ("GET", "queues/{shard}", None, "any"),
    ("GET", "queues/explain-tags?name={queue}", None, "any"),
    ("GET", "facts/queues?queue={queue}", None, "any"),
    ("POST", "queues", {"name": "{queue}", "tags": ["new"]}, "create"),
    ("POST", "messages", {"queue": "{queue}", "message": "m"}, "post"),
    ("POST", "messages/pop", {"queue": "{queue}"}, "fetch"),
    ("PATCH", "queues/{shard}", {"retry_limit": 3}, "admin"),
    ("POST", "queues/{shard}/pause", None, "admin"),
    ("POST", "queues/{shard}/resume", None, "admin"),
    ("POST", "queues/{shard}/purge", None, "admin"),
    ("GET", "queues/{shard}/why", None, "admin"),
    ("GET", "messages?queue={queue}", None, "admin"),
    ("GET", "messages?shard={shard}", None, "admin"),
    ("GET", "messages/{shard}/1/why", None, "admin"),
    ("GET", "messages/{shard}/1/timeline", None, "admin"),
    ("DELETE", "messages/{shard}/77", None, "admin"),
    ("GET", "messages/{shard}/77", None, "post or admin"),
    ("POST", "messages/retry", {"filter": {"queue": "{queue}"}}, "admin"),
    ("POST", "messages/drop", {"ids": ["{shard}/77"]}, "admin"),
    ("POST", "messages/priority", {"ids": ["{shard}/77"], "priority": 1}, "admin"),
    ("GET", "dead-letters?queue={queue}", None, "admin"),
    ("GET", "dead-letters/groups?queue={queue}", None, "admin"),
    ("GET", "dead-letters/export?queue={queue}", None, "admin"),
    ("POST", "dead-letters/purge", {"filter": {"queue": "{queue}"}}, "admin"),
    ("POST", "dead-letters/redrives/dry-run", {"filter": {"queue": "{queue}"}}, "admin"),
    ("GET", "journal?queue={queue}", None, "admin"),
    ("GET", "journal", None, "operator"),
    ("GET", "clients", None, "operator"),
    ("GET", "sessions", None, "operator"),
    ("GET", "nodes", None, "operator"),
    ("GET", "audit", None, "operator"),
    ("GET", "facts/runs", None, "operator"),
    ("POST", "sessions/999999999/disconnect", None, "operator"),
    ("POST", "sessions/999999999/fail-messages", None, "operator"),
]
CALLERS = ("any", "create", "post", "fetch", "admin", "operator")
ENOUGH = {
    "any": set(CALLERS),
    "create": {"create", "admin", "operator"},
    "post": {"post"},
    "fetch": {"fetch"},
    "admin": {"admin", "operator"},
    "post or admin": {"post", "admin", "operator"},
    "operator": {"operator"},
}


def filled(value: Any, **names: Any) -> Any:
    if isinstance(value, str):
        return value.format(**names) if "{" in value else value
    if isinstance(value, list):
        return [filled(one, **names) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, **names) for name, one in value.items()}
    return value


@pytest.mark.parametrize(("method", "path", "body", "needs"), MATRIX, ids=lambda value: str(value)[:50])
async def test_each_address_needs_its_grant(
    broker: Cluster, client: Client, queue: str, method: str, path: str, body: Any, needs: str
) -> None:
    names = {"queue": queue, "shard": (await client.create(queue))["shard"]}
    grants = {caller: {f"{queue}*": {"serve" if caller == "any" else caller}} for caller in CALLERS[:-1]}
    grants["operator"] = {"*": {"admin"}}
    allowed = set()
    for caller, granted in grants.items():
        answer = await raw(broker, method, filled(path, **names), filled(body, **names), granted)
        assert answer.status in (200, 201, 403, 404, 409), (caller, answer)
        if answer.status == 403:
            assert answer.json["code"] == "PermissionDenied"
        else:
            allowed.add(caller)
    assert allowed == ENOUGH[needs]


async def raw(broker: Cluster, method: str, path: str, body: Any, grants: dict[str, set[str]]) -> Any:
    address, _, query = path.partition("?")
    arguments = dict(part.split("=") for part in query.split("&") if part)
    key = make_key(broker, grants)
    return await call(broker.node, method, f"/api/{address}", body, headers=key.headers, **arguments)


async def test_without_a_key_only_what_clients_do(broker: Cluster, client: Client, queue: str) -> None:
    """The tests' brokers let callers in that come from this machine."""
    shard = (await client.create(queue))["shard"]
    assert (await call(broker.node, "POST", "/api/messages", {"queue": queue, "message": "m"})).status == 201
    assert (await call(broker.node, "GET", f"/api/queues/{shard}")).status == 200
    for method, path in (("POST", f"queues/{shard}/purge"), ("GET", f"messages?shard={shard}"), ("GET", "nodes")):
        address, _, query = path.partition("?")
        arguments = dict(part.split("=") for part in query.split("&") if part)
        assert (await call(broker.node, method, f"/api/{address}", **arguments)).status == 403


async def test_a_wrong_key_is_refused_as_a_problem(broker: Cluster) -> None:
    answer = await call(broker.node, "GET", "/api/queues", headers={"Authorization": "Token wk_wrong"})
    assert (answer.status, answer.headers["Content-Type"]) == (401, "application/problem+json")
    assert answer.json["key"] == "token"


async def test_lists_show_only_what_the_key_is_about(broker: Cluster, client: Client, queue: str) -> None:
    for name in (queue, f"{queue}-2", f"x-{queue}"):
        await client.create(name)
    key = make_key(broker, {f"{queue}*": {"fetch"}})
    names = []
    cursor: dict[str, str] = {}
    while True:
        page = (await call(broker.node, "GET", "/api/queues", headers=key.headers, limit=1, **cursor)).json
        names += [one["name"] for one in page["results"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert names == [queue, f"{queue}-2"]


async def test_a_move_needs_the_grant_on_both_queues(broker: Cluster, client: Client, queue: str) -> None:
    source = (await client.post(queue, "m"))["shard"]
    target = (await client.create(f"x-{queue}"))["shard"]
    wish = {"filter": {"shard": source}, "to": target}
    refused = await raw(broker, "POST", "messages/move", wish, {queue: {"admin"}})
    assert (refused.status, refused.json["key"]) == (403, f"x-{queue}")
    assert (await raw(broker, "POST", "messages/move", wish, {f"*{queue}": {"admin"}})).json["done"] == 1


async def test_a_redrive_needs_the_grant_where_messages_go(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(f"{queue}.dead")
    wish = {"filter": {"queue": f"{queue}.dead"}}
    refused = await raw(broker, "POST", "dead-letters/redrives", wish, {f"{queue}.dead": {"admin"}})
    assert (refused.status, refused.json["key"]) == (403, queue)
