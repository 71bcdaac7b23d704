"""Streams: every registered subscriber gets every message in its order, at a position of its own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.client import Client, Fields, claim
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect
from willow_site.processes import wait_until

LABEL = 700  # of subscriptions that outlive their connection


def bodies(messages: list[Fields]) -> list[str]:
    return [message["body"] for message in messages]


@pytest.fixture
async def stream(client: Client, queue: str) -> str:
    await client.create(queue, kind="stream")
    return queue


@pytest.fixture
async def reader(connect: Connect, name: str) -> Client:
    reader = await connect()
    await reader.register(name)
    return reader


async def come_back(connect: Connect, reader: Client, name: str) -> Client:
    await reader.close()
    back = await connect()
    await back.register_when_free(name)
    return back


# who gets what


async def test_every_subscriber_gets_every_message_in_order(
    client: Client, connect: Connect, stream: str, name: str
) -> None:
    readers = [await connect() for _ in range(5)]
    for number, reader in enumerate(readers):
        await reader.register(f"{name}-{number}")
    labels = [await reader.subscribe(stream, in_flight=1000) for reader in readers]
    posted = [str(number) for number in range(300)]
    await client.post_all(stream, posted[:200])
    await asyncio.gather(*(client.post(stream, body, priority=9) for body in posted[200:]))
    for reader, label in zip(readers, labels, strict=True):
        messages = await reader.messages(label, len(posted))
        assert [message["index"] for message in messages] == list(range(1, len(posted) + 1))
        assert sorted(bodies(messages)) == sorted(posted)


@pytest.mark.parametrize("in_one_frame", [True, False])
async def test_what_is_posted_behind_a_subscribe_is_new_to_it(reader: Client, stream: str, in_one_frame: bool) -> None:
    subscribe = {"type": "subscribe", "queue": stream, "label": LABEL}
    posts = [{"type": "post", "queue": [stream], "message": body} for body in ("1", "2")]
    for frame in [[subscribe, *posts]] if in_one_frame else [[subscribe], *([post] for post in posts)]:
        await reader.send(*frame)
    await reader.expect(LABEL, type="subscribed")
    assert bodies(await reader.messages(LABEL, 2)) == ["1", "2"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({}, ["4"]),
        ({"from": "new"}, ["4"]),
        ({"from": "oldest"}, ["1", "2", "3", "4"]),
        ({"from": 1}, ["1", "2", "3", "4"]),
        ({"from": 3}, ["3", "4"]),
        ({"from": 4}, ["4"]),
    ],
)
async def test_a_first_subscription_begins_where_it_says(
    client: Client, reader: Client, stream: str, start: dict[str, Any], expected: list[str]
) -> None:
    await client.post_all(stream, ["1", "2", "3"])
    label = await reader.subscribe(stream, **start)
    await client.post(stream, "4")
    assert bodies(await reader.messages(label, len(expected))) == expected


async def test_from_an_index_beyond_all_numbers_nothing_comes(client: Client, reader: Client, stream: str) -> None:
    label = await reader.subscribe(stream, **{"from": 2**64 - 1})
    await client.post(stream, "m")
    await reader.send({"type": "unsubscribe", "label": label, "forget": True})
    again = await reader.subscribe(stream, **{"from": "oldest"})
    await reader.expect(again, body="m")
    assert reader.unread(label) == []


async def test_a_later_subscription_goes_on_where_the_client_was_whatever_it_says(
    client: Client, connect: Connect, reader: Client, stream: str, name: str
) -> None:
    await client.post_all(stream, ["1", "2"])
    await reader.subscribe(stream, label=LABEL, **{"from": "oldest"})
    for message in await reader.messages(LABEL, 2):
        await reader.finish(message)
    back = await come_back(connect, reader, name)
    await client.post(stream, "3")
    await back.expect(LABEL, type="message", body="3", attempt=1)


# finish, fail and time


async def test_no_more_than_in_flight_are_unacknowledged(client: Client, reader: Client, stream: str) -> None:
    await client.post_all(stream, ["1", "2", "3", "4"])
    label = await reader.subscribe(stream, in_flight=2, **{"from": "oldest"})
    for expected in (["1", "2"], ["3", "4"]):
        messages = await reader.messages(label, 2)
        assert bodies(messages) == expected
        await reader.heard_everything()
        assert reader.unread(label) == []
        for message in messages:
            await reader.finish(message)


@pytest.mark.parametrize("match", ["all", "strict", "combined"])
async def test_all_streams_of_a_subscription_share_its_bound(
    client: Client, reader: Client, queue: str, match: str
) -> None:
    for tag in ("a", "b"):
        await client.create(queue, tags=["t", tag], kind="stream")
        await client.post_all(queue, ["1", "2"], tags=["t", tag])
    label = await reader.subscribe(queue, tags=["t"], match=match, in_flight=1, **{"from": "oldest"})
    taken = []
    for _ in range(4):
        [message] = await reader.messages(label, 1)
        await reader.heard_everything()
        assert reader.unread(label) == []
        await reader.finish(message)
        taken.append((message["tags"][0], message["body"]))
    assert sorted(taken) == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]


async def test_a_failed_message_comes_again_to_that_client_alone(
    client: Client, connect: Connect, reader: Client, stream: str, name: str
) -> None:
    content = await connect()
    await content.register(f"{name}-content")
    labels = [await each.subscribe(stream) for each in (reader, content)]
    await client.post(stream, "m")
    await content.expect(labels[1], attempt=1)
    await reader.fail(await reader.expect(labels[0], attempt=1))
    again = await reader.expect(labels[0], body="m", attempt=2)
    await reader.finish(again)
    await client.post(stream, "next")
    await content.expect(labels[1], body="next")


async def test_a_final_failure_does_not_bring_the_message_again(client: Client, reader: Client, stream: str) -> None:
    await client.post_all(stream, ["1", "2"])
    label = await reader.subscribe(stream, in_flight=1, **{"from": "oldest"})
    [message] = await reader.messages(label, 1)
    await reader.fail(message, final=True)
    await reader.expect(label, type="message", body="2", attempt=1)


async def test_a_failure_can_choose_its_delay(client: Client, reader: Client, stream: str) -> None:
    label = await reader.subscribe(stream, in_flight=1)
    await client.post_all(stream, ["later", "now"])
    await reader.fail(await reader.expect(label, body="later"), delay=1)
    await reader.finish(await reader.expect(label, body="now"))
    await reader.expect(label, body="later", attempt=2)


async def test_a_message_comes_again_when_its_time_is_over(client: Client, reader: Client, stream: str) -> None:
    label = await reader.subscribe(stream, work_timeout=0.2)
    await client.post(stream, "m")
    assert [message["attempt"] for message in await reader.messages(label, 2)] == [1, 2]


@pytest.mark.parametrize("command", ["finish", "fail", "keepalive"])
async def test_a_message_that_is_not_outstanding_is_no_object(
    client: Client, reader: Client, stream: str, command: str
) -> None:
    label = await reader.subscribe(stream)
    await client.post(stream, "m")
    message = await reader.expect(label, body="m")
    await reader.finish(message)
    label = await reader.begin(command, **claim(message))
    await reader.expect(label, code="NoObject", key=f"{message['shard']}/{message['sequence']}")


# coming back


async def test_what_was_not_acknowledged_comes_again_first(
    client: Client, connect: Connect, reader: Client, stream: str, name: str
) -> None:
    await reader.subscribe(stream, in_flight=4, label=LABEL)
    await client.post_all(stream, ["1", "2", "3", "4", "5"])
    first, _, third, _ = await reader.messages(LABEL, 4)
    for message in (first, third):
        await reader.finish(message)
    await reader.expect(LABEL, body="5")
    back = await come_back(connect, reader, name)
    await client.post(stream, "6")
    again = await back.messages(LABEL, 4)
    assert [(message["body"], message["attempt"]) for message in again] == [("2", 2), ("4", 2), ("5", 2), ("6", 1)]


async def test_what_a_client_acknowledged_last_counts_though_it_left_at_once(
    broker: Cluster, client: Client, connect: Connect, reader: Client, stream: str, name: str
) -> None:
    await reader.subscribe(stream, label=LABEL)
    await client.post(stream, "1")
    message = await reader.expect(LABEL, body="1")
    with psycopg.connect(broker.database_url) as slow:
        slow.execute("LOCK TABLE clients_position IN EXCLUSIVE MODE")
        await reader.send({"type": "finish", **claim(message)})
        await reader.close()
        await client.create(f"{stream}-other")  # by now the broker knows that the client has left
    back = await connect()
    await back.register_when_free(name)
    await client.post(stream, "2")
    await back.expect(LABEL, body="2")


async def test_after_unsubscribing_the_next_subscription_goes_on(
    client: Client, connect: Connect, reader: Client, stream: str, name: str
) -> None:
    label = await reader.subscribe(stream, **{"from": "oldest"})
    await client.post_all(stream, ["1", "2"])
    for message in await reader.messages(label, 2):
        await reader.finish(message)
    await reader.send({"type": "unsubscribe", "label": label})
    await client.post(stream, "while it did not read")
    again = await reader.subscribe(stream, **{"from": "new"})
    await reader.finish(await reader.expect(again, body="while it did not read"))
    await reader.send({"type": "unsubscribe", "label": again})
    back = await come_back(connect, reader, name)
    await client.post(stream, "while it was away")
    later = await back.subscribe(stream)
    await back.expect(later, body="while it was away")


async def test_what_is_in_flight_can_be_finished_after_unsubscribing(
    client: Client, reader: Client, stream: str
) -> None:
    label = await reader.subscribe(stream)
    await client.post_all(stream, ["1", "2", "3"])
    first, second, _ = await reader.messages(label, 3)
    await reader.send({"type": "unsubscribe", "label": label})
    await reader.finish(first)
    await reader.finish(second)
    again = await reader.subscribe(stream)
    await reader.expect(again, body="3", attempt=2)
    await client.post(stream, "4")
    await reader.expect(again, body="4", attempt=1)


async def test_after_forgetting_the_next_subscription_is_a_first_one(
    client: Client, reader: Client, stream: str
) -> None:
    label = await reader.subscribe(stream)
    await client.post_all(stream, ["1", "2"])
    for message in await reader.messages(label, 2):
        await reader.finish(message)
    await reader.send({"type": "unsubscribe", "label": label, "forget": True})
    again = await reader.subscribe(stream, **{"from": "oldest"})
    assert bodies(await reader.messages(again, 2)) == ["1", "2"]


# streams that come to be later


async def test_a_stream_that_joins_a_subscription_is_read_from_its_beginning(
    client: Client, reader: Client, queue: str
) -> None:
    label = await reader.subscribe(queue, match="strict")
    await client.send(
        {"type": "create", "queue": queue, "kind": "stream", "tags": ["t"]},
        *({"type": "post", "queue": queue, "tags": ["t"], "message": body} for body in ("1", "2")),
    )
    assert bodies(await reader.messages(label, 2)) == ["1", "2"]


async def test_a_stream_that_came_to_be_while_the_client_was_away_is_read_from_its_beginning(
    client: Client, connect: Connect, reader: Client, queue: str, name: str
) -> None:
    await reader.subscribe(queue, match="strict", label=LABEL)
    await reader.close()
    await client.create(queue, kind="stream", tags=["t"])
    await client.post_all(queue, ["1", "2"], tags=["t"])
    back = await connect()
    await back.register_when_free(name)
    assert bodies(await back.messages(LABEL, 2)) == ["1", "2"]


async def test_a_stream_is_read_by_one_subscription_of_a_client(client: Client, reader: Client, queue: str) -> None:
    first, second = [await reader.subscribe(queue, match=match) for match in ("strict", "all")]
    await client.create(queue, kind="stream", tags=["t"])
    refused = await reader.next(second)
    assert (refused["type"], refused["code"], refused["key"]) == ("error", "ObjectAlreadyExists", queue)
    third = await reader.begin("subscribe", queue, tags=["t"])
    await reader.expect(third, type="error", code="ObjectAlreadyExists", key=queue)
    await client.post(queue, "m", tags=["t"])
    await reader.finish(await reader.expect(first, body="m"))


# refusals


@pytest.mark.parametrize("read", ["fetch", "pop"])
async def test_a_stream_is_not_fetched_from(client: Client, stream: str, read: str) -> None:
    await client.post(stream, "m")
    refused = await client.expect(await client.begin(read, stream), type="error", code="BadRequest", key="queue")
    assert "subscribe" in refused["message"]


async def test_a_stream_is_subscribed_to_by_registered_clients_only(client: Client, stream: str) -> None:
    refused = await client.expect(
        await client.begin("subscribe", stream), type="error", code="PermissionDenied", key=stream
    )
    assert "register" in refused["message"]


async def test_a_subscription_of_nobody_is_told_that_it_does_not_get_a_new_stream(
    client: Client, other: Client, queue: str
) -> None:
    label = await client.subscribe(queue, match="strict")
    await other.create(queue, kind="stream", tags=["t"])
    await client.expect(label, type="error", code="PermissionDenied", key=queue)
    await other.post(queue, "m", tags=["another"])
    await client.expect(label, type="message", body="m")


# retention


async def indexes_kept(broker: Cluster, stream: str, expected: list[int]) -> None:
    """Wait until retention has left these, and see it leave no less."""
    kept = "SELECT index FROM delivery_message m JOIN queues_queue q ON q.id = queue_id WHERE q.name = %s ORDER BY 1"
    rounds = "SELECT handled_total, ran_at FROM delivery_dutyrun WHERE duty = 'retain streams'"
    assert wait_until(lambda: [index for (index,) in broker.query(kept, stream)] == expected, PATIENCE)
    last_round = broker.query(rounds)
    assert wait_until(lambda: broker.query(rounds) != last_round, PATIENCE)
    assert [index for (index,) in broker.query(kept, stream)] == expected


async def test_a_stream_keeps_so_many_messages(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, kind="stream", retention_count=2)
    await client.post_all(queue, ["1", "2", "3", "4", "5"])
    await indexes_kept(broker, queue, [4, 5])


async def test_a_stream_keeps_messages_for_so_long(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, kind="stream", retention_seconds=3600)
    await client.post_all(queue, ["1", "2", "3"])
    broker.query(
        "UPDATE delivery_message SET posted_at = posted_at - interval '1 hour'"
        " FROM queues_queue q WHERE q.id = queue_id AND q.name = %s AND index <= 2",
        queue,
    )
    await indexes_kept(broker, queue, [3])


async def test_a_stream_keeps_what_some_persistent_subscriber_has_not_acknowledged(
    broker: Cluster, client: Client, connect: Connect, queue: str, name: str
) -> None:
    await client.create(queue, kind="stream", retention_acked=True)
    await client.post_all(queue, ["1", "2", "3", "4"])
    await indexes_kept(broker, queue, [1, 2, 3, 4])  # nobody could have acknowledged
    messages = {}
    for kind, persistent in (("fast", True), ("slow", True), ("transient", False)):
        reader = await connect()
        await reader.register(f"{name}-{kind}", persistent=persistent)
        label = await reader.subscribe(queue, **{"from": "oldest"})
        messages[kind] = [(reader, message) for message in await reader.messages(label, 4)]
    for reader, message in messages["fast"]:
        await reader.finish(message)
    for reader, message in (messages["slow"][0], messages["slow"][1], messages["slow"][3]):
        await reader.finish(message)
    await indexes_kept(broker, queue, [3, 4])


async def test_a_stream_without_retention_keeps_everything(broker: Cluster, client: Client, stream: str) -> None:
    await client.post_all(stream, ["1", "2", "3"])
    await indexes_kept(broker, stream, [1, 2, 3])


async def test_a_reader_that_lags_is_told_which_messages_it_missed(
    broker: Cluster, client: Client, reader: Client, queue: str
) -> None:
    created = await client.create(queue, kind="stream", retention_count=2)
    label = await reader.subscribe(queue, in_flight=1)
    await client.post(queue, "1")
    first = await reader.expect(label, body="1")
    await client.post_all(queue, ["2", "3", "4", "5"])
    await indexes_kept(broker, queue, [4, 5])
    await reader.finish(first)
    missed = await reader.expect(label, type="error", code="NoObject", key=f"{created['shard']}/2-3")
    assert "2 to 3" in missed["message"]
    await reader.finish(await reader.expect(label, body="4"))
    await reader.expect(label, body="5")


async def test_a_client_that_was_away_is_told_what_it_missed_and_not_what_it_had(
    three_nodes: Cluster, connect: Connect, queue: str, name: str
) -> None:
    here, elsewhere, _ = three_nodes.nodes  # a node may still remember what it read itself
    client, reader = await connect(here), await connect(here)
    created = await client.create(queue, kind="stream", retention_count=2)
    await reader.register(name)
    await reader.subscribe(queue, label=LABEL)
    await client.post_all(queue, ["1", "2"])
    await reader.finish((await reader.messages(LABEL, 2))[1])
    await reader.close()
    await client.post_all(queue, ["3", "4", "5"])
    await indexes_kept(three_nodes, queue, [4, 5])
    back = await connect(elsewhere)
    await back.register_when_free(name)
    for missed in ("1-1", "3-3"):
        await back.expect(LABEL, type="error", code="NoObject", key=f"{created['shard']}/{missed}")
    assert bodies(await back.messages(LABEL, 2)) == ["4", "5"]


async def test_a_message_that_was_removed_while_it_was_outstanding_can_still_be_acknowledged(
    broker: Cluster, client: Client, reader: Client, queue: str
) -> None:
    await client.create(queue, kind="stream", retention_count=1)
    label = await reader.subscribe(queue)
    await client.post_all(queue, ["1", "2"])
    removed, _ = await reader.messages(label, 2)
    await indexes_kept(broker, queue, [2])
    broker.query("UPDATE queues_counter SET next_sequence = 1 WHERE queue_id = %s", removed["shard"])
    await client.post(queue, "3")
    successor = await reader.expect(label, body="3")
    assert successor["sequence"] == removed["sequence"]  # its ID is in use again
    await reader.finish(removed)
    await reader.finish(successor)


# what a post costs


async def test_a_post_writes_no_more_rows_for_more_subscribers(
    broker: Cluster, client: Client, connect: Connect, stream: str, name: str
) -> None:
    readers = [await connect() for _ in range(20)]
    shard = (await client.create(stream))["shard"]
    with counted_writes(broker, shard):
        alone = await rows_written_by_posts(broker, client, stream)
        labels = []
        for number, reader in enumerate(readers):
            await reader.register(f"{name}-{number}")
            labels.append(await reader.subscribe(stream))
        crowded = await rows_written_by_posts(broker, client, stream)
        for reader, label in zip(readers, labels, strict=True):
            await reader.messages(label, 5)
    assert crowded == alone == [("delivery_message", 5), ("queues_counter", 5)]


@contextmanager
def counted_writes(broker: Cluster, shard: int) -> Iterator[None]:
    """Meanwhile the table `written` gets a row for each row that is written about a queue or its messages."""
    broker.query("CREATE TABLE written (relation text)")
    broker.query(
        "CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO written SELECT TG_TABLE_NAME WHERE TG_ARGV[0] = to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1];"
        " RETURN NULL; END $$"
    )
    for table, column in (
        ("queues_queue", "id"),
        ("delivery_message", "queue_id"),
        ("delivery_endedcount", "queue_id"),
        ("queues_counter", "queue_id"),
        ("delivery_pendingnotice", "queue_id"),
    ):
        broker.query(
            f"CREATE TRIGGER note_write AFTER INSERT OR UPDATE OR DELETE ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION note_write('{shard}', '{column}')"
        )
    try:
        yield
    finally:
        broker.query("DROP FUNCTION note_write CASCADE")
        broker.query("DROP TABLE written")


async def rows_written_by_posts(broker: Cluster, client: Client, stream: str) -> list[Any]:
    broker.query("DELETE FROM written")
    for _ in range(5):
        await client.post(stream, "m")
    return broker.query("SELECT relation, count(*) FROM written GROUP BY relation ORDER BY relation")
