"""/api/messages on a real node."""

import asyncio
from typing import Any

import pytest

from tests.acceptance.api.conftest import Call
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.http import call


async def test_a_post_is_stored_and_wakes_who_waits(api: Call, client: Client, queue: str) -> None:
    fetching = await client.begin_waiting("fetch", queue, block_timeout=30)
    posted = await api("POST", "messages", {"queue": queue, "message": "hello", "priority": 3})
    assert posted.status == 201
    [stored] = posted.json["stored"]
    message = await client.expect(fetching, type="message", body="hello", priority=3)
    assert (stored["shard"], stored["sequence"], stored["index"]) == (
        message["shard"],
        message["sequence"],
        message["index"],
    )
    assert stored["id"] == f"{message['shard']}/{message['sequence']}/{message['index']}"


async def test_all_that_a_post_can_have_goes_the_same_way(api: Call, client: Client, queue: str) -> None:
    await client.create(queue, tags=["eu"], updatable=True, max_length=2)
    post = {"queue": queue, "tags": ["eu"], "message": "1", "key": "k", "delay": 0, "ttl": 100, "dedupe": "d"}
    [first] = (await api("POST", "messages", post)).json["stored"]
    [repeat] = (await api("POST", "messages", post)).json["stored"]
    assert repeat == {**first, "duplicate": True}
    replacing = {"queue": queue, "tags": ["eu"], "message": [255], "key": "k"}
    [replaced] = (await api("POST", "messages", replacing)).json["stored"]
    assert replaced == first
    await api("POST", "messages", {"queue": queue, "tags": ["eu"], "message": "2"})
    full = await api("POST", "messages", {"queue": queue, "tags": ["eu"], "message": "3"})
    assert (full.status, full.json["code"]) == (429, "Overloaded")
    popped = (await api("POST", "messages/pop", {"queue": queue, "tags": ["eu"], "count": 5})).json["messages"]
    assert [message["body"] for message in popped] == [[255], "2"]


async def test_a_post_goes_to_several_queues(api: Call, client: Client, queue: str) -> None:
    names = [queue, f"{queue}-2"]
    stored = (await api("POST", "messages", {"queue": names, "message": "m"})).json["stored"]
    assert [one["queue"] for one in stored] == names
    for name in names:
        assert (await client.pop(name))["body"] == "m"


async def test_bodies_have_the_forms_of_json_frames(api: Call, queue: str) -> None:
    for body in ("", "é", [104, 105], [255, 0], {"base64": "/wA="}, {"base64": ""}):
        assert (await api("POST", "messages", {"queue": queue, "message": body})).status == 201
    popped = (await api("POST", "messages/pop", {"queue": queue, "count": 10})).json["messages"]
    assert [message["body"] for message in popped] == ["", "é", "hi", [255, 0], [255, 0], ""]
    for wrong in (5, [256], {"base64": "!"}, {"base64": 5}, {}):
        answer = await api("POST", "messages", {"queue": queue, "message": wrong})
        assert (answer.status, answer.json["key"]) == (400, "message"), wrong


async def test_a_pop_waits_for_a_message(api: Call, client: Client, queue: str) -> None:
    assert (await api("POST", "messages/pop", {"queue": queue})).json == {"messages": []}
    popping = asyncio.create_task(api("POST", "messages/pop", {"queue": queue, "timeout": 30}))
    await client.post(queue, "late")
    [popped] = (await popping).json["messages"]
    assert (popped["body"], popped["queue"], popped["attempt"]) == ("late", queue, 1)


async def test_a_stream_is_not_popped(api: Call, client: Client, queue: str) -> None:
    await client.create(queue, kind="stream")
    answer = await api("POST", "messages/pop", {"queue": queue})
    assert (answer.status, answer.json["key"]) == (400, "queue")


async def test_looking_at_messages_claims_nothing(api: Call, client: Client, queue: str) -> None:
    await client.post_all(queue, ["a" * 20, "b"])
    page = (await api("GET", "messages", queue=queue, body_bytes=3)).json
    assert [(one["body"], one["size"], one["state"]) for one in page["results"]] == [
        ("aaa", 20, "ready"),
        ("b", 1, "ready"),
    ]
    assert page["next"] is None
    one = page["results"][0]
    whole = (await api("GET", f"messages/{one['shard']}/{one['index']}")).json
    assert (whole["body"], whole["outcome"]) == ("a" * 20, None)
    assert (await api("GET", f"messages/{one['shard']}/99")).status == 404
    assert (await client.fetch(queue))["attempt"] == 1


async def test_filters_choose_and_pages_stay_in_place(api: Call, client: Client, queue: str) -> None:
    await client.post_all(queue, [f"even {number}" if number % 2 == 0 else "odd" for number in range(10)])
    first = (await api("GET", "messages", queue=queue, text="even", limit=2)).json
    await client.pop(queue)  # the first row goes, and a new one comes
    await client.post(queue, "even 10")
    bodies = [one["body"] for one in first["results"]]
    cursor = first["next"]
    while cursor:
        page = (await api("GET", "messages", queue=queue, text="even", limit=2, cursor=cursor)).json
        bodies += [one["body"] for one in page["results"]]
        cursor = page["next"]
    assert bodies == [f"even {number}" for number in range(0, 11, 2)]
    held = await client.fetch(queue)
    [claimed] = (await api("GET", "messages", queue=queue, state="claimed")).json["results"]
    assert (claimed["index"], claimed["attempts"], claimed["session"] is not None) == (held["index"], 1, True)


async def test_operators_actions_answer_with_counts_and_reasons(api: Call, client: Client, queue: str) -> None:
    await client.post_all(queue, ["a", "b"])
    await client.post(queue, "late", delay=3600)
    held = await client.fetch(queue)
    target = (await client.create(f"{queue}-2"))["shard"]
    everything = {"filter": {"queue": queue}}
    retried = (await api("POST", "messages/retry", everything)).json
    assert (retried["done"], retried["reasons"]) == (1, {"held by a client": 1, "ready": 1})
    assert (await api("POST", "messages/priority", {**everything, "priority": 8})).json["done"] == 2
    moved = (await api("POST", "messages/move", {**everything, "to": target})).json
    assert (moved["done"], moved["skipped"], moved["failed"], moved["more"]) == (2, 1, 0, False)
    assert [message["priority"] for message in await client.fetch_all(f"{queue}-2", 2)] == [8, 8]
    ids = {"ids": [f"{held['shard']}/{held['sequence']}/{held['index']}", f"{held['shard']}/999"]}
    dropped = (await api("POST", "messages/drop", ids)).json
    assert dropped["reasons"] == {"held by a client": 1, "not there (any more)": 1}


async def test_one_message_is_dropped_by_its_address(api: Call, client: Client, queue: str) -> None:
    stored = await client.post(queue, "m")
    path = f"messages/{stored['shard']}/{stored['index']}"
    assert (await api("DELETE", f"messages/{stored['shard']}/{stored['index'] + 1}")).json["done"] == 0
    assert (await api("DELETE", path)).json["done"] == 1
    await client.finds_nothing(queue)
    events = (await api("GET", f"{path}/timeline")).json["events"]
    assert [event["what"] for event in events] == ["posted", "dropped"]
    [cause] = (await api("GET", f"{path}/why")).json["causes"]
    assert cause["code"] == "ended"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("messages", {"queue": "q"}, "message"),
        ("messages", {"queue": "q", "message": [256]}, "message"),
        ("messages", {"queue": [], "message": "m"}, "queue"),
        ("messages", {"queue": "q", "message": "m", "priority": -1}, "priority"),
        ("messages", {"queue": "q", "message": "m", "delay": "soon"}, "delay"),
        ("messages", {"queue": "q", "message": "m", "notify": ["sync"]}, "notify"),
        ("messages/pop", {"queue": "q", "timeout": 31}, "timeout"),
        ("messages/drop", {}, ""),
        ("messages/drop", {"ids": ["1/2"], "filter": {}}, ""),
        ("messages/drop", {"ids": ["1"]}, "ids.0"),
        ("messages/drop", {"filter": {"queue": "q", "stat": "ready"}}, "filter.stat"),
        ("messages/drop", {"filter": {}}, "queue"),
        ("messages/priority", {"ids": ["1/2"]}, "priority"),
        ("messages/move", {"ids": ["1/2"], "to": "there"}, "to"),
    ],
)
async def test_wrong_fields_are_named(api: Call, path: str, body: dict[str, Any], field: str) -> None:
    answer = await api("POST", path, body)
    assert (answer.status, [error["field"] for error in answer.json["errors"]]) == (400, [field])


async def test_what_is_not_json_is_refused(broker: Cluster) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await call(broker.node, "POST", "/api/messages", {"queue": "q", "message": "m"}, headers=form)
    assert (answer.status, answer.headers["Content-Type"]) == (415, "application/problem+json")


async def test_a_forged_cursor_is_refused(api: Call, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    answer = await api("GET", "messages", queue=queue, cursor="WzAsMF0")
    assert (answer.status, answer.json["key"]) == (400, "cursor")
