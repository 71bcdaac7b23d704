"""Headers and groups go with their message, in both encodings, wherever it goes."""

from typing import Any

import pytest

from tests.acceptance.api.conftest import Call, api, operator_key
from tests.support.client import Client, claim
from tests.support.fixtures import Connect

__all__ = ["api", "operator_key"]

HEADERS = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "a.b_c-1": "ü \n\u2028",
    "empty": "",
}
WITH = {"headers": HEADERS, "group": "account 7"}


def extras_of(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("headers", "group") if name in message}


async def test_every_way_to_a_reader(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"], **WITH)
    assert extras_of(await client.fetch(queue)) == WITH
    assert extras_of(await client.pop(queue)) == WITH
    await client.post(queue, "tagged", tags=["x"], **WITH)
    for _ in range(2):
        assert extras_of(await client.fetch(queue, match="all")) == WITH  # over several queues
    await client.post(queue, "without")
    assert extras_of(await client.fetch(queue)) == {}


async def test_to_readers_that_wait(client: Client, other: Client, queue: str) -> None:
    for command, timeout in (("fetch", "block_timeout"), ("pop", "timeout")):
        waiting = await other.begin_waiting(command, queue, **{timeout: 30})
        await client.begin("post", queue, message="m", **WITH)
        assert extras_of(await other.next(waiting)) == WITH
    label = await other.subscribe(queue)
    await client.post(queue, "m", **WITH)
    assert extras_of(await other.next(label)) == WITH


async def test_in_bincode(connect: Connect, queue: str) -> None:
    binary = await connect(binary="true", extras="true")
    await binary.send_binary({"type": "post", "queue": [queue], "message": b"m", "label": 900, "notify": [], **WITH})
    await binary.send_binary({"type": "fetch", "queue": queue, "block_timeout": 30.0, "label": 901})
    assert extras_of(await binary.next(901)) == WITH
    plain = await connect(binary="true")
    await plain.send_binary({"type": "post", "queue": [queue], "message": b"m", "label": 900, **WITH})
    await plain.send_binary({"type": "fetch", "queue": queue, "block_timeout": 30.0, "label": 901})
    assert extras_of(await plain.next(901)) == {}


async def test_in_streams(client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    await client.register(name)
    await client.post(queue, "m", **WITH)
    label = await client.subscribe(queue, **{"from": "oldest"})
    assert extras_of(await client.next(label)) == WITH


async def test_through_retries_dead_letters_redrives_and_moves(client: Client, queue: str, api: Call) -> None:
    await client.create(queue, retry_limit=2)
    await client.post(queue, "m", unique="u", **WITH)
    for _ in range(2):
        message = await client.fetch(queue, block_timeout=30)
        assert extras_of(message) == WITH
        await client.fail(message, delay=0)
    dead = await client.fetch(f"{queue}.dead", block_timeout=30)
    assert extras_of(dead) == WITH
    await client.send({"type": "release", **claim(dead), "label": 900, "response": "write"})
    await client.expect(900, notice="write")
    await api("POST", "dead-letters/redrives", {"filter": {"queue": queue}})
    back = await client.fetch(queue, block_timeout=30)
    assert extras_of(back) == WITH
    assert (await client.post(queue, "another", unique="u"))["duplicate"] is True
    await client.send({"type": "release", **claim(back), "label": 901, "response": "write"})
    await client.expect(901, notice="write")
    target = (await api("POST", "queues", {"name": f"{queue}-2"})).json["shard"]
    assert (await api("POST", "messages/move", {"filter": {"queue": queue}, "to": target})).json["done"] == 1
    assert extras_of(await client.fetch(f"{queue}-2")) == WITH


async def test_replaced_by_key(client: Client, queue: str) -> None:
    await client.create(queue, updatable=True)
    await client.post(queue, "1", key="k", headers={"old": "1"})
    await client.post(queue, "2", key="k", **WITH)
    assert extras_of(await client.fetch(queue)) == WITH


async def test_rest_posts_shows_finds_and_pops_them(client: Client, queue: str, api: Call) -> None:
    posted = await api("POST", "messages", {"queue": queue, "message": "m", "unique": "u", **WITH})
    assert (posted.status, posted.json["stored"][0]["duplicate"]) == (201, False)
    again = (await api("POST", "messages", {"queue": queue, "message": "m", "unique": "u"})).json["stored"][0]
    assert (again["duplicate"], again["id"]) == (True, posted.json["stored"][0]["id"])
    await client.post(queue, "other")
    [found] = (await api("GET", "messages", queue=queue, header="a.b_c-1")).json["results"]
    assert (extras_of(found), found["unique"], found["body"]) == (WITH, "u", "m")
    assert (await api("GET", "messages", queue=queue, header="b")).json["results"] == []
    popped = (await api("POST", "messages/pop", {"queue": queue})).json["messages"][0]
    assert extras_of(popped) == WITH
    refused = await api("POST", "messages", {"queue": queue, "message": "m", "headers": {"willow-due": "x"}})
    assert (refused.status, refused.json["key"]) == (400, "headers")


async def test_the_journal_has_them_where_it_has_bodies(client: Client, queue: str, api: Call) -> None:
    for name, keeps in ((queue, True), (f"{queue}-2", False)):
        await client.create(name, keep_bodies=keeps)
        await client.post(name, "m", **WITH)
        await client.finish(await client.fetch(name))
        await client.post(name, "without")
        await client.pop(name)
        [popped, finished] = (await api("GET", "journal", queue=name)).json["results"]
        assert (popped["headers"], finished["headers"]) == (None, HEADERS if keeps else None)
        found = (await api("GET", "journal", queue=name, header="traceparent")).json["results"]
        assert [row["index"] for row in found] == ([1] if keeps else [])
        shown = (await api("GET", f"messages/{finished['shard']}/1")).json
        assert shown["headers"] == finished["headers"]


BAD = [
    {"headers": {"willow-due": "x"}},
    {"headers": {"Upper": "x"}},
    {"headers": {"": "x"}},
    {"headers": {"a" * 129: "x"}},
    {"headers": {"a": "x" * 4097}},
    {"headers": {"a": "\0"}},
    {"headers": {"a": 1}},
    {"headers": ["a"]},
    {"headers": {str(number): "" for number in range(65)}},
    {"headers": {str(number): "x" * 4000 for number in range(5)}},
    {"group": ""},
    {"group": "x" * 201},
    {"unique": "x" * 201},
    {"unique": "a\0"},
]


@pytest.mark.parametrize("fields", BAD, ids=lambda fields: repr(fields)[:30])
async def test_what_is_wrong_is_named(client: Client, queue: str, fields: dict[str, Any]) -> None:
    label = await client.begin("post", queue, message="m", notify=["write"], **fields)
    await client.expect(label, type="error", code="BadRequest", key=next(iter(fields)))
    await client.post(queue, "m", headers={"a": "x" * 4096}, group="x" * 200, unique="x" * 200)
