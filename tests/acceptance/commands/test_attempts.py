"""A command that names its attempt touches only the claim of that attempt."""

from typing import Any

import pytest

from tests.support.client import Client, Fields, claim

COMMANDS = ["finish", "fail", "keepalive", "release"]


def attempt_of(message: Fields) -> Fields:
    return {**claim(message), "attempt": message["attempt"]}


async def two_attempts(client: Client, queue: str, second: Client) -> tuple[Fields, Fields]:
    """A message that `client` failed, and that `second` holds now."""
    await client.create(queue, retry_delay=0, retry_limit=5)
    await client.post(queue, "m")
    early = await client.fetch(queue)
    await client.fail(early)
    return early, await second.fetch(queue)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("binary", [False, True])
async def test_a_late_word_of_an_earlier_attempt_is_no_object_to_its_own_client(
    client: Client, queue: str, command: str, binary: bool
) -> None:
    early, late = await two_attempts(client, queue, client)
    assert (early["attempt"], late["attempt"]) == (1, 2)
    key = f"{early['shard']}/{early['sequence']}"
    label = client.label()
    named: Fields = attempt_of(early)
    if command == "release" and binary:
        named = {"messages": [named]}
    send = client.send_binary if binary else client.send
    await send({"type": command, **named, "label": label})
    await client.expect(label, type="error", code="NoObject", key=key)
    await client.expect(await client.begin("keepalive", **attempt_of(late)), notice="keepalive")
    label = await client.begin("finish", **attempt_of(late), response="write")
    await client.expect(label, notice="write")


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_late_word_of_an_earlier_attempt_does_not_touch_another_client(
    client: Client, other: Client, queue: str, command: str
) -> None:
    early, late = await two_attempts(client, queue, other)
    label = await client.begin(command, **attempt_of(early))
    await client.expect(label, type="error", code="NoObject")
    await other.finish(late)


async def test_the_attempt_of_another_client_is_denied(client: Client, other: Client, queue: str) -> None:
    _, late = await two_attempts(client, queue, other)
    label = await client.begin("finish", **attempt_of(late))
    await client.expect(label, type="error", code="PermissionDenied")
    await other.finish(late)


async def test_a_late_word_leaves_the_place_of_a_subscription_taken(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_all(queue, ["1", "2"])
    label = await client.subscribe(queue, in_flight=1)
    [early] = await client.messages(label, 1)
    await client.fail(early)
    [again] = await client.messages(label, 1)
    assert (again["body"], again["attempt"]) == ("1", 2)
    refused = await client.begin("finish", **attempt_of(early))
    await client.expect(refused, type="error", code="NoObject")
    await client.heard_everything()
    assert client.unread(label) == []
    await client.finish(again)
    await client.expect(label, body="2")


async def test_an_attempt_beyond_all_numbers_is_no_object(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = await client.begin("finish", **claim(message), attempt=2**32 - 1)
    await client.expect(label, type="error", code="NoObject")
    await client.finish(message)


@pytest.mark.parametrize("command", COMMANDS)
async def test_of_a_stream_too(client: Client, queue: str, name: str, command: str) -> None:
    await client.create(queue, kind="stream")
    await client.register(name)
    label = await client.subscribe(queue)
    await client.post(queue, "m")
    early = await client.expect(label, type="message")
    await client.fail(early)
    late: Any = await client.expect(label, type="message")
    assert (early["attempt"], late["attempt"]) == (1, 2)
    await client.expect(await client.begin(command, **attempt_of(early)), type="error", code="NoObject")
    await client.expect(
        await client.begin("finish", **attempt_of(late), response="write"), type="notice", notice="write"
    )
