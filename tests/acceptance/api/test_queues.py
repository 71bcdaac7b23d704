"""/api/queues on a real node."""

import asyncio

import pytest

from tests.acceptance.api.conftest import Call
from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.http import call


async def test_a_queue_is_made_shown_changed_and_deleted(api: Call, queue: str) -> None:
    made = await api("POST", "queues", {"name": queue, "tags": ["b", "a"], "retry_limit": 2})
    assert made.status == 201
    assert (made.json["tags"], made.json["retry_limit"], made.json["ready"]) == (["a", "b"], 2, 0)
    path = f"queues/{made.json['shard']}"
    changed = await api("PATCH", path, {"max_length": 5, "retry_limit": None})
    assert (changed.status, changed.json["max_length"], changed.json["retry_limit"]) == (200, 5, None)
    assert (await api("GET", f"{path}/")).json["max_length"] == 5
    assert (await api("DELETE", path)).json["done"] == 0
    assert (await api("GET", path)).status == 404


async def test_limits_are_settings_like_others(api: Call, broker: Cluster, client: Client, queue: str) -> None:
    chosen = {"group_in_flight": 1, "max_in_flight": 10, "rate": 0.5, "burst": 3.0, "keep_replies": 60.0}
    created = await client.create(queue, **chosen)
    assert {name: created[name] for name in chosen} == chosen
    path = f"queues/{created['shard']}"
    assert chosen.items() <= (await api("GET", path)).json.items()
    changed = (await api("PATCH", path, {"rate": None, "max_in_flight": 11})).json
    assert (changed["rate"], changed["max_in_flight"], changed["group_in_flight"]) == (None, 11, 1)
    status = (await call(broker.node, "GET", f"/status/{queue}")).json
    assert status["queues"][0]["max_in_flight"] == 11


async def test_streams_get_no_limits_from_an_operator(api: Call, client: Client, queue: str) -> None:
    shard = (await client.create(queue, kind="stream"))["shard"]
    refused = await api("PATCH", f"queues/{shard}", {"max_in_flight": 1})
    assert (refused.status, refused.json["key"]) == (400, "max_in_flight")


async def test_a_queue_that_is_there_is_not_made_again(api: Call, queue: str) -> None:
    assert (await api("POST", "queues", {"name": queue})).status == 201
    answer = await api("POST", "queues", {"name": queue})
    assert (answer.status, answer.json["code"], answer.json["key"]) == (409, "ObjectAlreadyExists", queue)


async def test_pausing_and_resuming_reach_who_waits(api: Call, client: Client, queue: str) -> None:
    shard = (await client.post(queue, "m"))["shard"]
    assert (await api("POST", f"queues/{shard}/pause")).json["paused"] is True
    fetching = await client.begin_waiting("fetch", queue, block_timeout=30)
    assert (await api("POST", f"queues/{shard}/resume")).json["paused"] is False
    await client.expect(fetching, type="message", body="m")


async def test_a_full_queue_is_purged_or_deleted_by_force(api: Call, client: Client, queue: str) -> None:
    await client.post_all(queue, ["a", "b", "c"])
    held = await client.fetch(queue)
    path = f"queues/{held['shard']}"
    refused = await api("DELETE", path)
    assert (refused.status, refused.headers["Content-Type"]) == (409, "application/problem+json")
    assert "holds messages" in refused.json["detail"]
    purged = (await api("POST", f"{path}/purge")).json
    assert (purged["done"], purged["skipped"], purged["reasons"]) == (2, 1, {"held by a client": 1})
    assert (await api("DELETE", path, force="true")).json["done"] == 1


async def test_lists_are_filtered(api: Call, queue: str) -> None:
    for name, tags in ((queue, ["x"]), (queue, ["x", "y"]), (f"{queue}-2", [])):
        await api("POST", "queues", {"name": name, "tags": tags})

    async def found(**arguments: object) -> list[tuple[str, list[str]]]:
        results = (await api("GET", "queues", **arguments)).json["results"]
        return [(one["name"], one["tags"]) for one in results]

    assert await found(prefix=queue) == [(queue, ["x"]), (queue, ["x", "y"]), (f"{queue}-2", [])]
    assert await found(name=queue, tag=["x", "y"]) == [(queue, ["x", "y"])]
    assert await found(prefix=queue, paused="true") == []
    assert await found(prefix=queue, kind="stream") == []


async def test_pages_are_stable_while_queues_come(api: Call, queue: str) -> None:
    for number in range(6):
        await api("POST", "queues", {"name": f"{queue}-{number}"})
    first = (await api("GET", "queues", prefix=queue, limit=2)).json
    await api("POST", "queues", {"name": f"{queue}-00"})  # before where the next page begins
    names = [one["name"] for one in first["results"]]
    cursor = first["next"]
    while cursor:
        page = (await api("GET", "queues", prefix=queue, limit=2, cursor=cursor)).json
        names += [one["name"] for one in page["results"]]
        cursor = page["next"]
    assert names == [f"{queue}-{number}" for number in range(6)]


async def test_what_has_not_changed_is_not_sent_again(api: Call, broker: Cluster, queue: str) -> None:
    await api("POST", "queues", {"name": queue})
    first = await api("GET", "queues", prefix=queue)
    known = {"If-None-Match": first.headers["ETag"]}
    again = await call(broker.node, "GET", "/api/queues", headers=known, prefix=queue)
    assert (again.status, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "zürich"}, "name"),
        ({"name": "q", "heartbeat_timeout": 0}, "heartbeat_timeout"),
        ({"name": "q", "retry_backoff": 0.5}, "retry_backoff"),
        ({"name": "q", "max_length": 2**63}, "max_length"),
        ({"name": "q", "colour": "red"}, "colour"),
        ({"name": "q", "tags": [""]}, "tags.0"),
        ({"name": "q", "kind": "pile"}, "kind"),
        ({"name": "q", "max_in_flight": 0}, "max_in_flight"),
        ({"name": "q", "rate": 0}, "rate"),
        ({"name": "q", "rate": "nan"}, "rate"),
        ({"name": "q", "rate": float("nan")}, "rate"),
        ({"name": "q", "rate": float("inf")}, "rate"),
        ({"name": "q", "rate": 1e-320}, "rate"),
        ({"name": "q", "rate": True}, "rate"),
        ({"name": "q", "burst": -1}, "burst"),
        ({"name": "q", "burst": True}, "burst"),
        ({"name": "q", "kind": "stream", "group_in_flight": 1}, "group_in_flight"),
        ({"name": "q", "keep_replies": -1}, "keep_replies"),
    ],
)
async def test_wrong_fields_are_named(api: Call, body: dict[str, object], field: str) -> None:
    answer = await api("POST", "queues", body)
    assert (answer.status, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert [error["field"] for error in answer.json["errors"]] == [field]
    assert (answer.json["code"], answer.json["key"]) == ("BadRequest", field)


async def test_why_and_tags_are_explained(api: Call, client: Client, queue: str) -> None:
    shard = (await client.post(queue, "m", tags=["eu"]))["shard"]
    async with asyncio.timeout(PATIENCE):
        while [cause["code"] for cause in (await api("GET", f"queues/{shard}/why")).json["causes"]] != ["no_reader"]:
            await asyncio.sleep(LOOK_SECONDS)
    explained = (await api("GET", "queues/explain-tags", name=queue, tags="us", match="strict")).json
    assert explained == {"results": [{"shard": shard, "tags": ["eu"], "matches": False, "reason": "It lacks us."}]}


async def test_addresses_that_are_nothing_are_refused_the_same_way(api: Call) -> None:
    for path in ("nothing", "queues/x", "queues/99999999999999999999", "queues/1/2/3"):
        answer = await api("GET", path)
        assert (answer.status, answer.headers["Content-Type"]) == (404, "application/problem+json")
