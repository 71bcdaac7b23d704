"""cancel: a poster takes back what nobody holds."""

import pytest

from tests.support.client import Client, Fields
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.keys import make_key


def posted(queue: str, notice: Fields) -> Fields:
    return {"queue": queue, "shard": notice["shard"], "index": notice["index"]}


async def cancelled(client: Client, queue: str, notice: Fields) -> Fields:
    return await client.next(await client.begin("cancel", **posted(queue, notice)))


@pytest.mark.parametrize("delay", [None, 3600])
@pytest.mark.parametrize("binary", [False, True])
async def test_a_message_that_waits_is_taken_back(
    client: Client, queue: str, delay: float | None, binary: bool
) -> None:
    first = await client.post(queue, "kept")
    notice = await client.post(queue, "m", delay=delay)
    label = client.label()
    send = client.send_binary if binary else client.send
    await send({"type": "cancel", **posted(queue, notice), "label": label})
    numbers = {name: notice[name] for name in ("shard", "sequence", "index")}
    assert await client.next(label) == {"type": "notice", "label": label, "notice": "write", **numbers}
    assert (await client.fetch(queue))["index"] == first["index"]
    await client.finds_nothing(queue)


async def test_its_poster_gets_no_drop_and_the_journal_says_who_it_was(
    broker: Cluster, client: Client, queue: str
) -> None:
    stages = ["sync", "assign", "finish", "retry", "drop"]
    label = await client.begin("post", queue, message="m", notify=stages)
    notice = await client.expect(label, notice="sync")
    assert (await cancelled(client, queue, notice))["notice"] == "write"
    await client.heard_everything()
    assert client.unread(label) == []
    rows = broker.query("SELECT outcome, reason FROM delivery_journal WHERE queue_name = %s", queue)
    assert rows == [("dropped", "cancelled")]


async def test_what_somebody_holds_is_no_object(client: Client, other: Client, queue: str) -> None:
    notice = await client.post(queue, "m")
    message = await other.fetch(queue)
    answer = await cancelled(client, queue, notice)
    assert (answer["code"], answer["key"]) == ("NoObject", f"{notice['shard']}/{notice['index']}")
    await other.finish(message)


async def test_what_has_ended_is_no_object(client: Client, queue: str) -> None:
    notice = await client.post(queue, "m")
    await client.pop(queue)
    assert (await cancelled(client, queue, notice))["code"] == "NoObject"
    again = await client.post(queue, "has its ID again")
    assert (await cancelled(client, queue, notice))["code"] == "NoObject"
    assert (await cancelled(client, queue, again))["notice"] == "write"
    assert (await cancelled(client, queue, again))["code"] == "NoObject"


async def test_what_others_posted_is_no_object(client: Client, other: Client, queue: str) -> None:
    notice = await client.post(queue, "m")
    assert (await cancelled(other, queue, notice))["code"] == "NoObject"
    assert (await client.fetch(queue))["body"] == "m"


async def test_what_another_session_with_the_same_key_posted_is_taken_back(
    broker: Cluster, connect: Connect, queue: str
) -> None:
    key, stranger = make_key(broker, {"*": {"post"}}), make_key(broker, {"*": {"post"}})
    poster = await connect(headers=key.headers)
    notice = await poster.post(queue, "m")
    await poster.close()
    assert (await cancelled(await connect(headers=stranger.headers), queue, notice))["code"] == "NoObject"
    assert (await cancelled(await connect(), queue, notice))["code"] == "NoObject"
    assert (await cancelled(await connect(headers=key.headers), queue, notice))["notice"] == "write"


@pytest.mark.parametrize(
    "wrong", [{"queue": "another"}, {"shard": 2**64 - 1}, {"index": 2**64 - 1}, {"shard": 0}, {"index": 0}]
)
async def test_a_wrong_name_is_no_object(client: Client, queue: str, wrong: Fields) -> None:
    notice = await client.post(queue, "m")
    label = await client.begin("cancel", **posted(queue, notice) | wrong)
    await client.expect(label, type="error", code="NoObject")
    assert (await client.fetch(queue))["body"] == "m"


async def test_messages_of_a_stream_stay(client: Client, queue: str) -> None:
    await client.create(queue, kind="stream")
    notice = await client.post(queue, "m")
    assert (await cancelled(client, queue, notice))["code"] == "NoObject"


async def test_from_another_node(
    three_nodes: Cluster, connect: Connect, connect_when_available: Connect, queue: str
) -> None:
    poster = await connect(three_nodes.nodes[0], hold=60)
    notice = await poster.post(queue, "m")
    await poster.close()
    back = await connect_when_available(three_nodes.nodes[1], id=poster.id)
    assert (await cancelled(back, queue, notice))["notice"] == "write"
    await back.finds_nothing(queue)
