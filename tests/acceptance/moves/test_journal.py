"""The journal: a line for each failed attempt, and one for the end of each message."""

from typing import Any

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster


async def _finish(client: Client, queue: str) -> None:
    await client.finish(await client.fetch(queue))


async def _pop(client: Client, queue: str) -> None:
    await client.pop(queue)


async def _fail_twice(client: Client, queue: str) -> None:
    for _ in range(2):
        await client.fail(await client.fetch(queue, block_timeout=30), error="no paper")


async def _fail_once(client: Client, queue: str) -> None:
    await client.fail(await client.fetch(queue))


async def _make_room(client: Client, queue: str) -> None:
    await client.post(queue, "the only one that fits")


LIVES = [
    (_finish, [("finished", None, 1, None)]),
    (_pop, [("popped", None, 1, None)]),
    (_fail_twice, [("retried", "failed", 1, "no paper"), ("dead", "failed", 2, "no paper")]),
    (_make_room, [("dropped", "overflow", 0, None)]),
]


@pytest.mark.parametrize(("live", "lines"), LIVES)
async def test_the_journal_tells_how_a_message_ended(
    broker: Cluster, client: Client, queue: str, live: Any, lines: list[Any]
) -> None:
    await client.create(queue, retry_limit=2, retry_delay=0, max_length=1, overflow="drop_oldest")
    notice = await client.post(queue, "12345", priority=7)
    await live(client, queue)
    written = broker.query(
        "SELECT outcome, reason, attempt, error, queue_name, index, priority, size FROM delivery_journal"
        " WHERE queue_id = %s ORDER BY id",
        notice["shard"],
    )
    assert written == [(*line, queue, 1, 7, 5) for line in lines]


async def test_bodies_are_kept_only_where_the_queue_asks_for_it(broker: Cluster, client: Client, queue: str) -> None:
    for name, keep_bodies in ((f"{queue}-kept", True), (f"{queue}-left", False)):
        await client.create(name, keep_bodies=keep_bodies)
        await client.post(name, "body")
        await _finish(client, name)
    kept = broker.query("SELECT body FROM delivery_journal WHERE queue_name = %s", f"{queue}-kept")
    left = broker.query("SELECT body FROM delivery_journal WHERE queue_name = %s", f"{queue}-left")
    assert (kept, left) == ([(b"body",)], [(None,)])


async def test_headers_group_key_and_unique_are_kept_where_bodies_are(
    broker: Cluster, client: Client, queue: str
) -> None:
    said = {"headers": {"traceparent": "00-1-2-01"}, "group": "ann", "key": "a-17", "unique": "u"}
    written = {}
    for name, keeps in ((queue, True), (f"{queue}-forgets", False)):
        shard = (await client.create(name, retry_limit=1, updatable=True, keep_bodies=keeps))["shard"]
        for live in (_finish, _pop, _fail_once):
            await client.post(name, "m", **said)
            await live(client, name)
        await client.post(name, "plain")
        await client.pop(name)
        rows = broker.query("SELECT outcome, extras FROM delivery_journal WHERE queue_id = %s ORDER BY id", shard)
        written[keeps] = rows
    ends = ["finished", "popped", "dead", "popped"]
    assert written == {
        True: list(zip(ends, [said, said, said, None], strict=True)),
        False: [(end, None) for end in ends],
    }
