"""release: what a client gives back is as if it had never been handed out."""

import pytest

from tests.support.client import Client, Fields, claim
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect


def attempt_of(message: Fields) -> Fields:
    return {**claim(message), "attempt": message["attempt"]}


async def released(client: Client, *messages: Fields, response: str = "write") -> None:
    label = client.label()
    named = {"messages": [attempt_of(message) for message in messages]}
    await client.send({"type": "release", **named, "label": label, "response": response})
    await client.expect(label, type="notice", notice=response)


def bodies(messages: list[Fields]) -> list[str]:
    return [message["body"] for message in messages]


# one, several, all


@pytest.mark.parametrize("response", ["ready", "write", "sync"])
async def test_one_message_is_named_like_a_claim(client: Client, queue: str, response: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = await client.begin("release", **attempt_of(message), response=response)
    numbers = {name: message[name] for name in ("shard", "sequence", "index")}
    assert await client.next(label) == {"type": "notice", "label": label, "notice": response, **numbers}
    again = await client.fetch(queue)
    assert (again["index"], again["attempt"]) == (message["index"], 1)


async def test_nothing_answers_when_no_response_was_asked_for(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    label = await client.begin("release", **claim(await client.fetch(queue)))
    await client.fetch(queue, block_timeout=30)
    assert client.unread(label) == []


@pytest.mark.parametrize("binary", [False, True])
async def test_several_are_ready_again_in_their_order(client: Client, queue: str, binary: bool) -> None:
    await client.post_all(queue, ["1", "2", "3", "4"])
    await client.post(queue, "urgent", priority=5)
    messages = await client.fetch_all(queue, 4)
    assert bodies(messages) == ["urgent", "1", "2", "3"]
    label = client.label()
    send = client.send_binary if binary else client.send
    named = [attempt_of(message) for message in reversed(messages)]
    await send({"type": "release", "messages": named, "label": label, "response": "write"})
    assert await client.next(label) == {"type": "notice", "label": label, "notice": "write"}
    again = await client.fetch_all(queue, 5)
    assert bodies(again) == ["urgent", "1", "2", "3", "4"]
    assert [message["attempt"] for message in again] == [1] * 5


@pytest.mark.parametrize("binary", [False, True])
async def test_all_that_a_client_holds(client: Client, other: Client, queue: str, binary: bool) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    [kept] = await other.fetch_all(queue, 1)
    await client.fetch_all(queue, 2)
    label = client.label()
    send = client.send_binary if binary else client.send
    await send({"type": "release", "messages": [], "label": label, "response": "sync"})
    assert await client.next(label) == {"type": "notice", "label": label, "notice": "sync"}
    assert bodies(await client.fetch_all(queue, 2)) == ["2", "3"]
    await other.finish(kept)


async def test_all_of_nothing(client: Client) -> None:
    label = client.label()
    await client.send({"type": "release", "label": label, "response": "write"})
    assert await client.next(label) == {"type": "notice", "label": label, "notice": "write"}
    await client.send({"type": "release"})
    await client.heard_everything()
    assert not client.unread()


# what it does


async def test_however_often_a_message_is_released_no_attempt_counts(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    label = await client.begin("post", queue, message="m", notify=["assign", "retry", "drop", "finish"])
    for _ in range(5):
        message = await client.fetch(queue, block_timeout=30)
        assert message["attempt"] == 1
        await client.expect(label, notice="assign")
        await released(client, message)
    await client.finish(await client.fetch(queue))
    await client.expect(label, notice="assign")
    await client.expect(label, notice="finish")
    assert client.unread(label) == []


async def test_a_later_attempt_stays_the_later_one(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    await client.fail(await client.fetch(queue), error="why")
    for _ in range(2):
        message = await client.fetch(queue)
        assert message["attempt"] == 2
        await released(client, message)


async def test_the_journal_has_no_row_of_it(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await released(client, message)
    assert broker.query("SELECT outcome FROM delivery_journal WHERE queue_name = %s", queue) == []
    await client.finish(await client.fetch(queue))
    rows = broker.query("SELECT outcome, attempt FROM delivery_journal WHERE queue_name = %s", queue)
    assert rows == [("finished", 1)]


async def test_who_waits_is_woken(client: Client, other: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    waiting = await other.begin_waiting("fetch", queue, block_timeout=30)
    await released(client, message)
    await other.expect(waiting, body="m", attempt=1)


async def test_a_subscription_that_ends_in_good_order_spends_no_attempts(
    client: Client, connect: Connect, queue: str
) -> None:
    """As often as a worker starts, takes one message of those that it was given, and goes."""
    await client.create(queue, retry_limit=2)
    await client.post_all(queue, [str(number) for number in range(8)])
    done = []
    for _ in range(4):
        worker = await connect()
        label = await worker.subscribe(queue, in_flight=5)
        messages = await worker.messages(label, min(5, 8 - len(done)))
        await worker.finish(messages[0])
        done.append(messages[0]["body"])
        await worker.send(
            {"type": "unsubscribe", "label": label}, {"type": "release", "label": 99, "response": "write"}
        )
        await worker.expect(99, notice="write")
        await worker.close()
    left = await client.fetch_all(queue, 4)
    assert sorted(done + bodies(left)) == [str(number) for number in range(8)]
    assert [message["attempt"] for message in left] == [1] * 4


async def test_a_release_frees_a_place(client: Client, queue: str) -> None:
    await client.post(queue, "1")
    label = await client.subscribe(queue, in_flight=1)
    [message] = await client.messages(label, 1)
    await released(client, message)
    [again] = await client.messages(label, 1)
    assert (again["body"], again["attempt"]) == ("1", 1)


# refusals


async def test_what_is_not_held_is_refused_alone(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_all(queue, ["1", "2", "3"])
    mine, ended, again = await client.fetch_all(queue, 3)
    await client.finish(ended)
    await client.fail(again)
    theirs = await other.fetch(queue)
    label = client.label()
    named = [claim(ended), claim(mine), claim(theirs), claim(mine) | {"queue": f"{queue}-other"}]
    await client.send({"type": "release", "messages": named, "label": label, "response": "write"})
    answers = [await client.next(label) for _ in range(4)]
    refused = {(answer["code"], answer["key"]) for answer in answers if answer["type"] == "error"}
    assert refused == {
        ("NoObject", f"{ended['shard']}/{ended['sequence']}"),
        ("PermissionDenied", f"{theirs['shard']}/{theirs['sequence']}"),
        ("NoObject", f"{mine['shard']}/{mine['sequence']}"),
    }
    assert [answer["type"] for answer in answers].count("notice") == 1
    assert (await client.fetch(queue))["body"] == "1"
    await other.finish(theirs)


async def test_nothing_was_released(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.finish(message)
    label = await client.begin("release", **claim(message), response="write")
    await client.expect(label, type="error", code="NoObject", key=f"{message['shard']}/{message['sequence']}")
    await client.heard_everything()
    assert client.unread(label) == []


# streams


async def test_a_message_of_a_stream_comes_again_as_the_same_attempt(client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    await client.register(name)
    label = await client.subscribe(queue, in_flight=3)
    await client.post_all(queue, ["1", "2", "3", "4"])
    first, second, third = await client.messages(label, 3)
    await client.send({"type": "release", "messages": [claim(second), claim(first)]})
    again = await client.messages(label, 2)
    assert sorted((message["body"], message["attempt"]) for message in again) == [("1", 1), ("2", 1)]
    for message in (*again, third):
        await client.finish(message)
    await client.expect(label, body="4", attempt=1)


async def test_all_includes_streams(client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    await client.register(name)
    label = await client.subscribe(queue, in_flight=2)
    await client.post_all(queue, ["1", "2", "3"])
    await client.messages(label, 2)
    await client.send({"type": "release", "label": 99, "response": "write"})
    await client.expect(99, notice="write")
    assert bodies(await client.messages(label, 2)) == ["1", "2"]


# nodes


async def test_a_release_wakes_who_waits_on_another_node(three_nodes: Cluster, connect: Connect, queue: str) -> None:
    here, there = [await connect(node) for node in three_nodes.nodes[:2]]
    await here.post(queue, "m")
    message = await here.fetch(queue)
    waiting = await there.begin_waiting("fetch", queue, block_timeout=30)
    await released(here, message)
    await there.expect(waiting, body="m", attempt=1)


async def test_claims_of_an_earlier_connection_are_released_on_any_node(
    three_nodes: Cluster, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    here = await connect(three_nodes.nodes[0], hold=60)
    await here.post_all(queue, ["1", "2"])
    named, _ = await here.fetch_all(queue, 2)
    await here.close()
    there = await connect_when_available(three_nodes.nodes[1], id=here.id)
    assert there.id == here.id
    await released(there, named)
    assert (await there.fetch(queue))["body"] == "1"
    await there.send({"type": "release", "label": 99, "response": "write"})
    await there.expect(99, notice="write")
    assert [message["attempt"] for message in await there.fetch_all(queue, 2)] == [1, 1]


async def test_very_many_that_wait_behind_a_register_are_all_answered_and_in_their_order(
    client: Client, queue: str, name: str
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    shard, many = (await client.create(f"{queue}-other"))["shard"], 3000
    unknown = [{"queue": f"{queue}-other", "shard": shard, "sequence": number + 1} for number in range(many)]
    releases = [{"type": "release", "messages": unknown, "label": client.label()} for _ in range(3)]
    register = {"type": "register", "name": name, "persistent": False, "label": client.label()}
    behind = [{"type": "release"}, {"type": "fetch", "queue": queue, "label": client.label()}]
    await client.send(register, *releases, *behind)
    await client.expect(register["label"], type="registered")
    for command in releases:
        errors = [await client.next(command["label"]) for _ in range(many)]
        assert {error["code"] for error in errors} == {"NoObject"}
    await client.expect(behind[1]["label"], type="message", index=message["index"], attempt=1)
