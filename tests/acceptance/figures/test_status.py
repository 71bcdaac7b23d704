"""Section 10 of the protocol: how the queues of a name are doing."""

import asyncio
from datetime import UTC, datetime

import pytest

from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.http import get


async def test_a_status_counts_messages_by_their_state(broker: Cluster, client: Client, queue: str) -> None:
    created = await client.create(queue, tags=["b", "a"], retry_limit=1, max_length=100)
    tags = {"tags": ["a", "b"]}
    await client.post_all(queue, ["dead", "in flight", "ready", "ready"], **tags)
    await client.post(queue, "delayed", delay=3600, **tags)
    await client.fail(await client.fetch(queue, **tags))
    await client.fetch(queue, **tags)
    code, status = await get(broker.node, f"/status/{queue}")
    assert code == 200
    [shown] = status["queues"]
    assert {name: shown[name] for name in ("tags", "shard", "kind", "indexes")} == {
        "tags": ["a", "b"],
        "shard": created["shard"],
        "kind": "work",
        "indexes": {"newest": 5, "oldest": 2},
    }
    counts = {"ready": 2, "delayed": 1, "in_flight": 1, "dead": 1}
    assert {name: shown[name] for name in counts} == counts
    assert (shown["retry_limit"], shown["max_length"]) == (1, 100)
    assert datetime.fromisoformat(shown["defined_at"]) < datetime.now(UTC)
    assert 0 < shown["oldest_age"] < PATIENCE


async def test_a_status_follows_what_happens(broker: Cluster, client: Client, queue: str) -> None:
    code, _ = await get(broker.node, f"/status/{queue}")
    assert code == 404
    counts = []
    for act in (client.post(queue, "m"), client.fetch(queue)):
        await act
        _, status = await get(broker.node, f"/status/{queue}")
        counts.append((status["totals"]["ready"], status["totals"]["in_flight"]))
    assert counts == [(1, 0), (0, 1)]


async def test_a_status_shows_all_queues_of_the_name_and_their_totals(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.post_all(queue, ["1", "2"])
    await client.post(queue, "3", tags=["t"])
    await client.fetch(queue, tags=["t"])
    await client.post(f"{queue}-other", "4")
    _, status = await get(broker.node, f"/status/{queue}")
    by_tags = {tuple(shown["tags"]): (shown["ready"], shown["in_flight"]) for shown in status["queues"]}
    assert by_tags == {(): (2, 0), ("t",): (0, 1)}
    totals = {name: status["totals"][name] for name in ("ready", "delayed", "in_flight", "dead")}
    assert totals == {"ready": 2, "delayed": 0, "in_flight": 1, "dead": 0}


async def test_a_status_stays_right_when_ids_were_used_again(broker: Cluster, client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    await client.pop(queue)
    await client.finish(await client.fetch(queue))
    await client.post(queue, "4")
    _, status = await get(broker.node, f"/status/{queue}")
    [shown] = status["queues"]
    assert (shown["ready"], shown["indexes"]) == (2, {"newest": 4, "oldest": 3})


async def test_an_empty_queue_has_no_oldest_message(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    await client.pop(queue)
    _, status = await get(broker.node, f"/status/{queue}")
    [shown] = status["queues"]
    assert (shown["indexes"], shown["oldest_age"]) == ({"newest": 1, "oldest": None}, None)


async def test_consumers_are_those_who_wait_and_those_who_hold(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.post(queue, "m")
    await client.fetch(queue)
    await other.begin_waiting("fetch", queue, block_timeout=30)
    async with asyncio.timeout(PATIENCE):  # nodes report this with their heartbeat
        while (await get(broker.node, f"/status/{queue}"))[1]["queues"][0]["consumers"] != 2:
            await asyncio.sleep(LOOK_SECONDS)


@pytest.mark.parametrize("name", ["a/b", "with space", "100%", "q?x=1#y", "..", "x/"])
async def test_any_name_can_be_asked_for(broker: Cluster, client: Client, queue: str, name: str) -> None:
    name = f"{queue} {name}"
    await client.post(name, "m")
    code, status = await get(broker.node, f"/status/{name}")
    assert (code, status["queues"][0]["ready"]) == (200, 1)


async def test_an_unknown_queue_is_not_found(broker: Cluster, queue: str) -> None:
    code, error = await get(broker.node, f"/status/{queue}")
    assert code == 404
    assert error.keys() == {"type", "label", "code", "key", "message"}
    assert (error["type"], error["label"], error["code"], error["key"]) == ("error", None, "NoObject", queue)
