"""/api/dead-letters on a real node with a reaper."""

import asyncio
import json
from typing import Any

from tests.acceptance.api.conftest import Call
from tests.acceptance.operating.test_dead_letters import bury
from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE


async def ended(api: Call, number: int, state: str = "done") -> Any:
    async with asyncio.timeout(PATIENCE):
        while (job := (await api("GET", f"dead-letters/redrives/{number}")).json)["state"] != state:
            await asyncio.sleep(LOOK_SECONDS)
    return job


async def test_they_are_listed_and_grouped(api: Call, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["slow 1", "slow 2", "odd"])
    letters = (await api("GET", "dead-letters", queue=queue)).json["results"]
    assert [(one["last_error"], one["reason"], one["origin_index"]) for one in letters] == [
        ("slow 1", "failed", 1),
        ("slow 2", "failed", 2),
        ("odd", "failed", 3),
    ]
    groups = (await api("GET", "dead-letters/groups", shard=shard)).json["results"]
    assert {(group["signature"], group["messages"]) for group in groups} == {("slow #", 2), ("odd", 1)}
    chosen = (await api("GET", "dead-letters", queue=f"{queue}.dead", signature="odd")).json["results"]
    assert [one["body"] for one in chosen] == ["body of odd"]


async def test_a_redrive_is_tried_started_and_undone(api: Call, client: Client, queue: str) -> None:
    await bury(client, queue, ["a", "b"])
    wish = {"filter": {"queue": queue}}
    dry = (await api("POST", "dead-letters/redrives/dry-run", wish)).json
    assert dry == {"messages": 2, "by_target": {queue: 2}, "without_target": 0, "held": 0, "more": False}
    started = await api("POST", "dead-letters/redrives", wish)
    assert started.status == 201
    number = started.json["id"]
    assert (await ended(api, number))["moved"] == 2
    listed = (await api("GET", "dead-letters/redrives", limit=1000)).json["results"]
    assert number in [job["id"] for job in listed]
    assert (await api("POST", f"dead-letters/redrives/{number}/cancel")).status == 409
    await client.pop(queue)
    assert (await api("POST", f"dead-letters/redrives/{number}/undo")).status == 200
    assert (await ended(api, number, "undone"))["returned"] == 1
    assert (await api("POST", f"dead-letters/redrives/{number}/undo")).status == 409


async def test_a_slow_redrive_is_cancelled(api: Call, client: Client, queue: str) -> None:
    shard = await bury(client, queue, ["a"])
    [letter] = (await api("GET", "dead-letters", shard=shard)).json["results"]
    target = (await client.create(f"{queue}-2"))["shard"]
    wish = {"ids": [letter["id"]], "to": target, "rate": 0.001}
    number = (await api("POST", "dead-letters/redrives", wish)).json["id"]
    assert (await api("POST", f"dead-letters/redrives/{number}/cancel")).json["state"] == "cancelled"


async def test_they_are_exported_and_purged(api: Call, client: Client, queue: str) -> None:
    await bury(client, queue, ["a", "b"])
    export = await api("GET", "dead-letters/export", queue=queue)
    assert export.headers["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in export.content.splitlines()]
    assert [(line["body"], line["error"]) for line in lines] == [("body of a", "a"), ("body of b", "b")]
    assert (await api("POST", "dead-letters/purge", {"filter": {"queue": queue}})).json["done"] == 2
    assert (await api("GET", "dead-letters", queue=queue)).json == {"results": [], "next": None}


async def test_only_dead_letters_are_redriven(api: Call, client: Client, queue: str) -> None:
    shard = (await client.post(queue, "alive"))["shard"]
    answer = await api("POST", "dead-letters/redrives", {"filter": {"shard": shard}})
    assert answer.status == 400 and "holds no dead letters" in answer.json["detail"]
