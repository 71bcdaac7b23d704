"""Subscriptions: messages come by themselves, never more unfinished ones than the subscription allows."""

import asyncio
from collections.abc import Iterator

import pytest

from delivery.sessions.readings import MOST_TERMS_BYTES, terms_size
from tests.support.client import Client, Fields, claim
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster

ONE_READER = ["all", "strict", "combined"]  # over all their queues; `any` has a reader for each


@pytest.fixture(scope="module")
def unpolled(start_cluster: StartCluster) -> Iterator[Cluster]:
    """A broker that does not look by itself, now and then, whether there is something to hand out."""
    with start_cluster(WILLOW_POLL_SECONDS="3600") as cluster:
        yield cluster


def bodies(messages: list[dict[str, str]]) -> list[str]:
    return [message["body"] for message in messages]


async def test_a_subscription_names_its_queues_then_brings_their_messages(
    client: Client, other: Client, queue: str
) -> None:
    created = [await client.create(queue, tags=tags) for tags in ([], ["a"])]
    label = await client.begin("subscribe", queue)
    assert await client.next(label) == {
        "type": "subscribed",
        "label": label,
        "queues": [{"name": queue, "tags": each["tags"], "shard": each["shard"]} for each in created],
    }
    await other.post(queue, "m", tags=["a"])
    await client.expect(label, type="message", body="m", tags=["a"], finished=False, attempt=1)


async def test_a_subscription_brings_what_was_posted_before_it(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2"])
    assert bodies(await client.messages(await client.subscribe(queue), 2)) == ["1", "2"]


async def test_a_subscription_that_is_ended_in_the_frame_that_makes_it_is_answered_and_brings_nothing(
    client: Client, queue: str
) -> None:
    await client.send(
        {"type": "subscribe", "queue": queue, "label": 100},
        {"type": "unsubscribe", "label": 100},
        {"type": "post", "queue": queue, "message": "m", "label": 101, "notify": ["sync"]},
    )
    await client.expect(100, type="subscribed")
    await client.expect(101, notice="sync")
    assert (await client.fetch(queue))["body"] == "m"


# in_flight


@pytest.mark.parametrize(("how", "bound"), [({}, 16), ({"in_flight": 3}, 3)])
async def test_no_more_than_in_flight_come_at_once(
    client: Client, other: Client, queue: str, how: dict[str, int], bound: int
) -> None:
    await client.post_all(queue, [str(number) for number in range(bound + 2)])
    label = await client.subscribe(queue, **how)
    await client.messages(label, bound)
    await other.fetch_all(queue, 2)  # what is over its bound is anybody's
    assert client.unread(label) == []


@pytest.mark.parametrize("end", ["finish", "fail"])
async def test_the_end_of_a_message_makes_room_for_the_next(
    unpolled: Cluster, connect: Connect, queue: str, end: str
) -> None:
    client = await connect(unpolled.node)
    await client.create(queue, retry_delay=3600)
    await client.post_all(queue, ["1", "2", "3"])
    label = await client.subscribe(queue, in_flight=1)
    for body in ("1", "2", "3"):
        message = await client.expect(label, body=body)
        await client.send({"type": end, **claim(message)})


async def test_a_claim_that_timed_out_makes_room_for_the_next(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    await client.post_all(queue, ["1", "2"])
    label = await client.subscribe(queue, in_flight=1, work_timeout=0.2)
    assert bodies(await client.messages(label, 2)) == ["1", "2"]


async def test_the_bound_holds_while_messages_are_finished_and_failed(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_all(queue, [str(number) for number in range(50)])
    label = await client.subscribe(queue, in_flight=5)
    await client.messages(label, 4)  # and never finish these
    for _ in range(2 * (50 - 4)):
        [message] = await client.messages(label, 1)
        assert client.unread(label) == []
        await client.send({"type": "fail" if message["attempt"] == 1 else "finish", **claim(message)})


async def test_a_thousand_subscriptions_are_all_served(client: Client, connect: Connect, queue: str) -> None:
    readers = [await connect() for _ in range(100)]
    names = [f"{queue}-{number}" for number in range(10)]

    async def read_twice(reader: Client, name: str) -> None:
        label = await reader.subscribe(name, in_flight=1)
        await reader.finish(await reader.expect(label, type="message"))
        await reader.expect(label, type="message")

    reading = asyncio.gather(*(read_twice(reader, name) for reader in readers for name in names))
    for name in names:
        await client.post_all(name, ["m"] * 200)
    await reading
    assert [reader.unread() for reader in readers] == [[]] * 100


# several queues


@pytest.mark.parametrize("match", ONE_READER)
async def test_all_queues_of_a_subscription_share_its_bound(
    client: Client, other: Client, queue: str, match: str
) -> None:
    for tags in (["t", "a"], ["t", "b"]):
        await client.post_all(queue, ["1", "2"], tags=tags)
    label = await client.subscribe(queue, tags=["t"], match=match, in_flight=3)
    await client.messages(label, 3)
    await other.fetch(queue)
    assert client.unread(label) == []


async def test_with_any_each_queue_has_a_bound_of_its_own(client: Client, other: Client, queue: str) -> None:
    for tag in ("a", "b"):
        await client.post_all(queue, ["1", "2", "3"], tags=[tag])
    label = await client.subscribe(queue, tags=["a", "b"], match="any", in_flight=2)
    messages = await client.messages(label, 4)
    assert sorted((message["tags"][0], message["body"]) for message in messages) == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
        ("b", "2"),
    ]
    await other.fetch_all(queue, 2)
    assert client.unread(label) == []


@pytest.mark.parametrize("in_flight", [1, 16])
async def test_combined_is_one_stream_by_priority_then_age(client: Client, queue: str, in_flight: int) -> None:
    for body, tag, priority in (("3", "a", 0), ("1", "a", 5), ("4", "b", 0), ("5", "a", 0), ("2", "b", 5)):
        await client.post(queue, body, tags=[tag], priority=priority)
    label = await client.subscribe(queue, tags=["a", "b"], match="combined", in_flight=in_flight)
    for body in "12345":
        await client.finish(await client.expect(label, body=body))


async def test_a_large_subscription_starves_nobody(client: Client, other: Client, queue: str) -> None:
    """It goes to the end of the line with every delivery, so of a steady flow the others get their share."""
    greedy = await client.subscribe(queue, in_flight=65_535)
    modest = await other.subscribe(queue, in_flight=1)
    for turn in range(10):
        await other.post(queue, str(turn))
        await other.post(queue, str(turn))
        await other.finish(await other.expect(modest, type="message"))
        await client.expect(greedy, type="message")


async def test_fetches_are_served_in_the_order_in_which_they_came(client: Client, other: Client, queue: str) -> None:
    labels = [(each, await each.begin_waiting("fetch", queue, block_timeout=30)) for each in (client, other, client)]
    await client.subscribe(queue, in_flight=1000)
    for number, (each, label) in enumerate(labels):
        await other.post(queue, str(number))
        await each.expect(label, type="message", body=str(number))


async def test_any_takes_turns(client: Client, queue: str) -> None:
    for tag in ("a", "b", "c"):
        await client.post_all(queue, [f"{tag}1", f"{tag}2"], tags=[tag], priority=ord(tag))
    label = await client.subscribe(queue, tags=["a", "b", "c"], match="any")
    first, second = await client.messages(label, 3), await client.messages(label, 3)
    assert (sorted(bodies(first)), sorted(bodies(second))) == (["a1", "b1", "c1"], ["a2", "b2", "c2"])


async def test_under_any_a_busy_queue_cannot_starve_a_quiet_one(client: Client, other: Client, queue: str) -> None:
    await client.post_all(queue, ["busy"] * 100, tags=["a"], priority=9)
    label = await client.subscribe(queue, tags=["a", "b"], match="any", in_flight=4)
    await client.messages(label, 4)  # and leaves them unfinished
    await other.post(queue, "quiet", tags=["b"])
    await client.expect(label, body="quiet")


@pytest.mark.parametrize(
    ("match", "created", "joins"),
    [
        ("all", [], True),
        ("all", ["a"], True),
        ("exact", ["a", "b"], False),
        ("strict", ["a", "b"], True),
        ("strict", ["b"], False),
        ("combined", ["a", "b"], True),
        ("combined", ["b"], False),
        ("any", ["a", "b"], True),
        ("any", [], False),
    ],
)
async def test_a_new_queue_joins_the_running_subscriptions_that_it_matches(
    client: Client, other: Client, queue: str, match: str, created: list[str], joins: bool
) -> None:
    await client.create(queue, tags=["x", "a"])
    label = await client.subscribe(queue, tags=["a"], match=match)
    await other.post(queue, "m", tags=created)
    if joins:
        await client.expect(label, body="m", tags=created)
    else:
        assert (await other.fetch(queue, tags=created, match="exact"))["body"] == "m"
        assert client.unread(label) == []


# several subscribers


async def test_subscribers_of_one_queue_take_turns(client: Client, connect: Connect, queue: str) -> None:
    readers = [await connect() for _ in range(3)]
    labels = [await reader.subscribe(queue) for reader in readers]
    for number in range(6):
        await client.post(queue, str(number))
        reader, label = readers[number % 3], labels[number % 3]
        assert bodies(await reader.messages(label, 1)) == [str(number)]


# unsubscribe


async def test_after_unsubscribing_nothing_comes_and_what_is_in_flight_stays_claimed(
    client: Client, other: Client, queue: str
) -> None:
    await client.post_all(queue, ["1", "2"])
    label = await client.subscribe(queue, in_flight=1)
    [message] = await client.messages(label, 1)
    await client.send({"type": "unsubscribe", "label": label})
    await client.finish(message)
    assert (await other.fetch(queue))["body"] == "2"
    await other.finds_nothing(queue)
    assert client.unread(label) == []


@pytest.mark.parametrize("label", [{"label": 70}, {}])
async def test_subscriptions_may_have_the_same_label_or_none(
    client: Client, other: Client, queue: str, label: Fields
) -> None:
    queues = [queue, f"{queue}-2", f"{queue}-3"]
    for name in queues:
        await client.send({"type": "subscribe", "queue": name, **label})
        await client.expect(label.get("label"), type="subscribed")
    for name in queues:
        await other.post(name, "m")
        await client.expect(label.get("label"), type="message", queue=name)
    await client.send({"type": "unsubscribe", **label})
    await client.finds_nothing(f"{queue}-other")
    for name in queues:
        await other.post(name, "after")
        assert (await other.fetch(name))["body"] == "after"
    await client.send({"type": "unsubscribe", **label})
    refused = await client.expect(label.get("label"), type="error", code="NoObject")
    assert refused["key"] == str(label.get("label", "label")) and "None" not in refused["message"]


# taking over


async def test_a_subscription_to_the_same_goes_on_under_the_new_label(client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2", "3", "4"])
    first = await client.subscribe(queue, in_flight=1)
    [held] = await client.messages(first, 1)
    second = await client.subscribe(queue, in_flight=2, work_timeout=77)
    [message] = await client.messages(second, 1)
    assert (message["body"], message["work_timeout"]) == ("2", 77.0)
    await client.finish(held)
    await client.expect(second, body="3")
    await client.finds_nothing(f"{queue}-other")
    assert client.unread(first) == client.unread(second) == []
    await client.send({"type": "unsubscribe", "label": first})
    await client.expect(first, type="error", code="NoObject")
    await client.send({"type": "unsubscribe", "label": second})


async def test_a_subscription_with_other_tags_or_match_stands_beside_the_first(client: Client, queue: str) -> None:
    labels = [
        await client.subscribe(queue, **which)
        for which in ({}, {"tags": ["a"]}, {"tags": ["a"], "match": "strict"}, {"tags": ["b"]})
    ]
    for label in labels:
        await client.send({"type": "unsubscribe", "label": label})
    await client.heard_everything()
    assert not client.unread()


async def test_a_subscription_that_was_restored_is_taken_over(
    connect: Connect, client: Client, queue: str, name: str
) -> None:
    first = await connect()
    await first.register(name)
    await first.subscribe(queue, tags=["t"], label=71)
    await first.close()
    second = await connect()
    await second.register_when_free(name)
    await second.subscribe(queue, tags=["t"], label=72)
    await client.post(queue, "m", tags=["t"])
    await second.finish(await second.expect(72, body="m"))
    assert second.unread(71) == []
    await second.close()
    third = await connect()
    record = await third.register_when_free(name)
    assert [one["name"] for one in record["subscribed_to"]] == [queue]
    await client.post(queue, "again", tags=["t"])
    await third.expect(72, body="again")


async def test_a_reader_of_a_stream_that_starts_again_misses_nothing(
    connect: Connect, client: Client, queue: str, name: str
) -> None:
    """As a program does that registers and subscribes at each start, with the labels that it always uses."""
    await client.create(queue, kind="stream")
    received = []
    for run in range(3):
        reader = await connect()
        await reader.register_when_free(name)
        label = await reader.subscribe(queue, label=80 + run, **{"from": "oldest"})
        await client.post(queue, str(run))
        message = await reader.expect(label, type="message")
        received.append(message["body"])
        await reader.finish(message)
        await reader.close()
        await client.post(queue, f"{run} while away")
        reader = await connect()
        await reader.register_when_free(name)
        message = await reader.expect(label, type="message")
        received.append(message["body"])
        await reader.finish(message)
        await reader.close()
    assert received == [text for run in range(3) for text in (str(run), f"{run} while away")]


async def test_unsubscribing_from_nothing_is_no_object(client: Client) -> None:
    await client.send({"type": "unsubscribe", "label": 70})
    await client.expect(70, type="error", code="NoObject", key="70")


@pytest.mark.parametrize("command", ["fetch", "pop", "subscribe"])
async def test_the_names_and_tags_that_a_connection_reads_by_have_a_bound(
    client: Client, queue: str, command: str
) -> None:
    waits = {"fetch": {"block_timeout": 60}, "pop": {"timeout": 60}, "subscribe": {}}[command]
    tags = [f"{number:0200}" for number in range(64)]
    most = MOST_TERMS_BYTES // terms_size(queue, tags)
    for number in range(most):
        tags[0] = f"a{number:0199}"
        begun = await client.begin(command, queue, tags=tags, match="strict", **waits)
    await client.heard_everything()
    assert all(frame["type"] == "subscribed" for frame in client.unread())
    tags[0] = f"b{0:0199}"
    refused = await client.begin(command, queue, tags=tags, match="strict", **waits)
    await client.expect(refused, type="error", code="Overloaded", key="tags")
    if command == "subscribe":
        await client.begin("unsubscribe", queue, label=begun)
        await client.subscribe(queue, tags=tags, match="strict")
