"""Which queues of a name a fetch or pop reads, by its tags and `match`."""

import psycopg
import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster

TAG_SETS = [[], ["a"], ["b"], ["a", "b"], ["a", "b", "c"], ["d"]]

# Tags of the reader, match, and the queues that it reads, named by their tags.
READS = [
    ([], None, ["", "a", "ab", "abc", "b", "d"]),
    ([], "all", ["", "a", "ab", "abc", "b", "d"]),
    (["a"], "all", ["", "a", "ab", "abc", "b", "d"]),
    ([], "exact", [""]),
    (["a"], None, ["a"]),
    (["b", "a"], None, ["ab"]),
    (["b", "a"], "exact", ["ab"]),
    (["b", "a"], "strict", ["ab", "abc"]),
    ([], "strict", ["", "a", "ab", "abc", "b", "d"]),
    (["b", "d"], "combined", ["ab", "abc", "b", "d"]),
    (["b", "d"], "any", ["ab", "abc", "b", "d"]),
    (["x"], "strict", []),
    (["x"], "combined", []),
    (["x"], "any", []),
]


@pytest.mark.parametrize("read", ["fetch", "pop"])
@pytest.mark.parametrize(("tags", "match", "expected"), READS)
async def test_a_reader_takes_from_the_queues_that_match(
    client: Client, queue: str, read: str, tags: list[str], match: str | None, expected: list[str]
) -> None:
    for tag_set in TAG_SETS:
        await client.post(queue, "".join(tag_set), tags=tag_set)
    reads = {"tags": tags} | ({"match": match} if match else {})
    bodies = []
    while (answer := await client.next(await client.begin(read, queue, **reads)))["type"] == "message":
        bodies.append(answer["body"])
    assert sorted(bodies) == expected


async def _post_in_two_queues(client: Client, queue: str) -> None:
    for body, tag, priority in (("1", "a", 0), ("2", "a", 5), ("3", "b", 0), ("4", "a", 0), ("5", "b", 5)):
        await client.post(queue, body, tags=[tag], priority=priority)


@pytest.mark.parametrize("read", ["fetch", "pop"])
async def test_combined_queues_are_drained_as_one_by_priority_then_age(client: Client, queue: str, read: str) -> None:
    await _post_in_two_queues(client, queue)
    label = await client.begin(read, queue, tags=["a", "b"], match="combined", count=5)
    assert "".join([(await client.next(label))["body"] for _ in range(5)]) == "25134"


async def test_any_takes_turns_between_the_queues(client: Client, queue: str) -> None:
    await _post_in_two_queues(client, queue)
    messages = await client.fetch_all(queue, 5, tags=["a", "b"], match="any")
    assert [message["tags"][0] for message in messages] == ["a", "b", "a", "b", "a"]


async def test_a_blocked_fetch_over_several_queues_gets_what_comes_to_any_of_them(
    client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, tags=["a"])
    await client.create(queue, tags=["b"])
    label = await other.begin("fetch", queue, block_timeout=30)
    await other.finds_nothing(queue)
    await client.post(queue, "m", tags=["b"])
    await other.expect(label, type="message", body="m", tags=["b"])


async def test_what_another_transaction_has_locked_hides_nothing_behind_it(
    broker: Cluster, client: Client, queue: str
) -> None:
    first = await client.post(queue, "locked", tags=["a"])
    await client.post(queue, "free", tags=["b"])
    with psycopg.connect(broker.database_url) as taking:
        taking.execute("SELECT FROM delivery_message WHERE queue_id = %s FOR UPDATE", [first["shard"]])
        assert (await client.fetch(queue))["body"] == "free"
