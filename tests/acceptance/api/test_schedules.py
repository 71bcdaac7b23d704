"""/api/schedules on a real node and reaper."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.acceptance.api.conftest import Call
from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.http import call
from tests.support.keys import make_key


async def test_each_due_time_is_posted_once_with_its_headers(api: Call, client: Client, queue: str) -> None:
    fields = {"name": queue, "queue": queue, "tags": ["t"], "message": "m", "headers": {"kind": "tick"}, "priority": 7}
    # `all`: on a slow machine the reaper may come to a due time when the next one has passed, too.
    made = await api("POST", "schedules/", {**fields, "every": 1, "missed": "all"})
    assert made.status == 201, made.json
    label = await client.subscribe(queue, tags=["t"])
    messages = [await client.next(label) for _ in range(3)]
    due = [datetime.fromisoformat(message["headers"]["willow-due"]) for message in messages]
    assert [moment - due[0] for moment in due] == [timedelta(seconds=second) for second in range(3)]
    assert due[0] - datetime.fromisoformat(made.json["created_at"]) == timedelta(seconds=1)
    for message in messages:
        headers = {name: text for name, text in message["headers"].items() if name != "willow-due"}
        assert headers == {"kind": "tick", "willow-schedule": queue}
        assert (message["body"], message["priority"], message["tags"]) == ("m", 7, ["t"])
        assert message["headers"]["willow-due"].endswith("Z")
    run = (await api("GET", f"schedules/{queue}")).json["last_run"]
    assert (run["shard"], run["by_hand"], run["error"]) == (messages[0]["shard"], False, None)
    assert (await api("DELETE", f"schedules/{queue}")).status == 204
    assert (await api("GET", f"schedules/{queue}")).status == 404


async def test_one_is_run_now_beside_its_plan_and_its_unique_text_holds(api: Call, client: Client, queue: str) -> None:
    plan = {"cron": "0 3 1 jan *", "time_zone": "Europe/Vienna", "unique": "u", "message": [0, 255], "queue": queue}
    made = (await api("POST", "schedules", {"name": queue, **plan})).json
    ran = await api("POST", f"schedules/{queue}/run/")
    assert (ran.status, ran.json["duplicate"], ran.json["by_hand"]) == (201, False, True)
    again = (await api("POST", f"schedules/{queue}/run")).json
    assert (again["index"], again["duplicate"]) == (ran.json["index"], True)
    message = await client.fetch(queue)
    assert (message["body"], message["headers"]["willow-schedule"]) == ([0, 255], queue)
    assert await client.finish(message)
    assert (await api("POST", f"schedules/{queue}/run")).json["duplicate"] is False
    assert (await api("GET", f"schedules/{queue}")).json["next_due_at"] == made["next_due_at"]


async def test_one_is_changed_replaced_switched_off_and_on(api: Call, queue: str) -> None:
    path = f"schedules/{queue}/"
    await api("POST", "schedules", {"name": queue, "queue": queue, "message": "m", "cron": "@daily", "missed": "all"})
    changed = (await api("PATCH", path, {"time_zone": "Asia/Kolkata", "priority": 3})).json
    assert (changed["cron"], changed["missed"], changed["priority"]) == ("@daily", "all", 3)
    assert changed["next_due_at"].endswith("18:30:00Z")
    off = (await api("PATCH", path, {"enabled": False})).json
    assert (off["enabled"], off["next_due_at"]) == (False, None)
    assert (await api("PATCH", path, {"enabled": True})).json["next_due_at"] == changed["next_due_at"]
    replaced = (await api("PUT", path, {"queue": queue, "message": "n", "every": 3600.5})).json
    assert (replaced["message"], replaced["every"], replaced["cron"]) == ("n", 3600.5, None)
    assert (replaced["missed"], replaced["priority"], replaced["time_zone"]) == ("skip", 0, "UTC")
    listed = (await api("GET", "schedules/", limit=1000)).json["results"]
    assert [one for one in listed if one["name"] == queue] == [replaced]


async def test_the_next_times_are_shown(api: Call, queue: str) -> None:
    plan = {"cron": "30 2 * * *", "time_zone": "Europe/Berlin", "starts_at": "2200-03-29T00:00:00Z"}
    await api("POST", "schedules", {"name": queue, "queue": queue, "message": "m", **plan})
    shown = (await api("GET", f"schedules/{queue}/next/", count=3)).json
    # 30 March 2200 is when clocks go forward there: 02:30 does not exist.
    assert shown["local"] == ["2200-03-29T02:30:00+01:00", "2200-03-30T03:00:00+02:00", "2200-03-31T02:30:00+02:00"]
    assert shown["next"][1] == "2200-03-30T01:00:00Z"
    assert len((await api("GET", f"schedules/{queue}/next")).json["next"]) == 5
    assert (await api("GET", f"schedules/{queue}/next", count=0)).json["key"] == "count"


BAD: list[tuple[str, Any]] = [
    ("every", 0.5),
    ("every", -1),
    ("every", "often"),
    ("every", True),
    ("every", float("nan")),
    ("cron", "0 0 30 2 *"),
    ("cron", "* * * *"),
    ("cron", ""),
    ("time_zone", "Mars/Base"),
    ("time_zone", "localtime"),
    ("missed", "some"),
    ("name", "a/run"),
    ("name", "ü"),
    ("queue", ""),
    ("headers", {"willow-x": "1"}),
    ("headers", {"X": "1"}),
    ("headers", {"a": 1}),
    ("unique", ""),
    ("priority", -1),
    ("ttl", -1),
    ("starts_at", "yesterday"),
    ("message", {"a": 1}),
    ("colour", "red"),
]


@pytest.mark.parametrize(("field", "value"), BAD)
async def test_what_is_wrong_is_named(api: Call, queue: str, field: str, value: Any) -> None:
    plan = {} if field in ("every", "cron") else {"every": 60}
    answer = await api("POST", "schedules", {"name": queue, "queue": queue, "message": "m", **plan, field: value})
    assert (answer.status, answer.json["code"], answer.json["key"].split(".")[0]) == (400, "BadRequest", field), answer


async def test_a_plan_is_one_of_two_and_ends_after_it_starts(api: Call, queue: str) -> None:
    common = {"name": queue, "queue": queue, "message": "m"}
    assert (await api("POST", "schedules", common)).json["key"] == "cron"
    assert (await api("POST", "schedules", {**common, "cron": "@daily", "every": 60})).json["key"] == "every"
    times = {"starts_at": "2030-01-02T00:00:00Z", "ends_at": "2030-01-01T00:00:00Z"}
    assert (await api("POST", "schedules", {**common, "every": 60, **times})).json["key"] == "ends_at"
    assert (await api("POST", "schedules", {**common, "every": 60})).status == 201
    twice = await api("POST", "schedules", {**common, "every": 60})
    assert (twice.status, twice.json["code"], twice.json["key"]) == (409, "ObjectAlreadyExists", queue)


async def test_only_who_administers_the_queue_sees_and_changes_it(api: Call, broker: Cluster, queue: str) -> None:
    await api("POST", "schedules", {"name": queue, "queue": queue, "message": "m", "every": 3600})
    other = make_key(broker, {f"{queue}-x": {"admin"}})
    poster = make_key(broker, {"*": {"post", "fetch", "create"}})

    async def status(key: Any, method: str, path: str, body: Any = None) -> int:
        headers = {} if key is None else key.headers
        return (await call(broker.node, method, f"/api/{path}", body, headers=headers)).status

    for key in (other, poster, None):
        assert await status(key, "GET", f"schedules/{queue}/") == 403
        assert await status(key, "POST", f"schedules/{queue}/run/") == 403
        assert await status(key, "DELETE", f"schedules/{queue}/") == 403
        assert await status(key, "POST", "schedules/", {"name": "n", "queue": queue, "message": "m", "every": 9}) == 403
    assert await status(poster, "GET", "schedules/") == await status(None, "GET", "schedules/") == 403
    listed = await call(broker.node, "GET", "/api/schedules/", headers=other.headers)
    assert (listed.status, listed.json["results"]) == (200, [])


async def test_a_full_queue_refuses_and_the_run_says_why(api: Call, client: Client, queue: str) -> None:
    await client.create(queue, max_length=1)
    await client.post(queue, "first")
    await api("POST", "schedules", {"name": queue, "queue": queue, "message": "m", "every": 1})
    refused = await api("POST", f"schedules/{queue}/run")
    assert (refused.status, "is full" in refused.json["detail"]) == (400, True)
    await client.expect(await client.begin_waiting("fetch", queue, block_timeout=PATIENCE), body="first")
    found = (await api("GET", f"schedules/{queue}")).json
    while found["last_run"] is None:
        found = (await api("GET", f"schedules/{queue}")).json
    assert "is full" in found["last_run"]["error"]
