"""Finish, fail and keepalive: what they do to a claim, and that they never touch anybody else's."""

from typing import Any

import pytest

from tests.support.client import Client, Fields, claim
from tests.support.cluster import Cluster

COMMANDS = ["finish", "fail", "keepalive"]


def key_of(message: Fields) -> str:
    return f"{message['shard']}/{message['sequence']}"


def without_index(message: Fields) -> Fields:
    return {name: value for name, value in claim(message).items() if name != "index"}


# answers


@pytest.mark.parametrize("command", ["finish", "fail"])
@pytest.mark.parametrize("response", ["ready", "write", "sync"])
async def test_the_response_that_was_asked_for_answers(client: Client, queue: str, command: str, response: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = await client.begin(command, **claim(message), response=response)
    numbers = {name: message[name] for name in ("shard", "sequence", "index")}
    assert await client.next(label) == {"type": "notice", "label": label, "notice": response, **numbers}


@pytest.mark.parametrize("command", ["finish", "fail"])
async def test_nothing_answers_when_no_response_was_asked_for(client: Client, queue: str, command: str) -> None:
    await client.post(queue, "m")
    label = await client.begin(command, **claim(await client.fetch(queue)))
    await client.finds_nothing(f"{queue}-other")
    assert client.unread(label) == []


async def test_a_keepalive_is_answered_if_it_has_a_label(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.send({"type": "keepalive", **claim(message)})
    label = await client.begin("keepalive", **claim(message))
    await client.expect(label, type="notice", notice="keepalive", shard=message["shard"])
    assert client.unread() == []


async def test_a_finished_message_is_gone(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    await client.finish(await client.fetch(queue))
    await client.finds_nothing(queue)


async def test_an_index_is_not_needed(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    named = without_index(await client.fetch(queue))
    label = await client.begin("keepalive", **named)
    await client.expect(label, notice="keepalive")
    label = await client.begin("fail", **named, response="write")
    await client.expect(label, notice="write", index=1)
    named = without_index(await client.fetch(queue, block_timeout=30))
    label = await client.begin("finish", **named, response="write")
    await client.expect(label, notice="write", index=1)


# refusals


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_message_that_nobody_holds_is_no_object(client: Client, queue: str, command: str) -> None:
    message = {"queue": queue, **await client.post(queue, "m")}
    label = await client.begin(command, **claim(message))
    await client.expect(label, type="error", code="NoObject", key=key_of(message))
    assert (await client.fetch(queue))["attempt"] == 1


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_message_that_was_finished_is_no_object(client: Client, queue: str, command: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.finish(message)
    label = await client.begin(command, **claim(message))
    await client.expect(label, type="error", code="NoObject", key=key_of(message))


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_message_that_another_client_holds_is_denied(
    client: Client, other: Client, queue: str, command: str
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    for named in (claim(message), without_index(message)):
        label = await other.begin(command, **named)
        await other.expect(label, type="error", code="PermissionDenied", key=key_of(message))
    await client.finish(message)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"sequence": 99},
        {"sequence": 0},
        {"sequence": 2**64 - 1},
        {"shard": 2**62},
        {"shard": 2**64 - 1},
        {"index": 99},
        {"index": 2**64 - 1},
        {"queue": "another-queue"},
    ],
)
async def test_a_message_that_does_not_exist_is_no_object(
    client: Client, queue: str, command: str, wrong: dict[str, Any]
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    wanted = message | wrong
    label = await client.begin(command, **claim(wanted))
    await client.expect(label, type="error", code="NoObject", key=key_of(wanted))
    await client.finish(message)


# several in one frame


async def test_a_message_can_be_kept_alive_twice_in_one_frame(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = claim(await client.fetch(queue))
    await client.send(*({"type": "keepalive", **message, "label": label} for label in (101, 102)))
    await client.expect(101, notice="keepalive")
    await client.expect(102, notice="keepalive")


@pytest.mark.parametrize(
    ("first", "second"), [("finish", "finish"), ("fail", "fail"), ("finish", "fail"), ("fail", "finish")]
)
async def test_of_two_ends_of_a_claim_in_one_frame_the_first_counts(
    client: Client, other: Client, queue: str, first: str, second: str
) -> None:
    await client.create(queue, retry_delay=3600)
    posting = await client.begin("post", queue, message="m", notify=["finish", "retry"])
    message = await other.fetch(queue, block_timeout=30)
    await other.send(
        {"type": first, **claim(message), "label": 101, "response": "write"},
        {"type": second, **claim(message), "label": 102, "response": "write"},
    )
    await other.expect(101, notice="write")
    await other.expect(102, code="NoObject")
    await client.expect(posting, notice={"finish": "finish", "fail": "retry"}[first])
    await client.heard_everything()
    assert client.unread(posting) == []


# stale ends


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("naming", [claim, without_index])
async def test_a_late_command_does_not_touch_the_next_holders_claim(
    client: Client, other: Client, queue: str, command: str, naming: Any
) -> None:
    await client.create(queue, retry_delay=0)
    await client.post(queue, "m")
    stale = await client.fetch(queue, work_timeout=0.1)
    current = await other.fetch(queue, block_timeout=30)
    label = await client.begin(command, **naming(stale))
    await client.expect(label, code="PermissionDenied", key=key_of(stale))
    assert current["attempt"] == 2
    await other.finish(current)


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_late_command_does_not_touch_a_new_message_with_the_same_id(
    client: Client, other: Client, queue: str, command: str
) -> None:
    await client.post(queue, "old")
    stale = await client.fetch(queue)
    await client.finish(stale)
    await client.post(queue, "new")
    current = await other.fetch(queue)
    assert (current["sequence"], current["index"]) == (stale["sequence"], stale["index"] + 1)
    label = await client.begin(command, **claim(stale))
    await client.expect(label, code="NoObject", key=key_of(stale))
    label = await client.begin(command, **without_index(stale))
    await client.expect(label, code="PermissionDenied", key=key_of(stale))
    await other.finish(current)


@pytest.mark.parametrize("command", COMMANDS)
async def test_the_index_protects_a_clients_own_new_message_with_the_same_id(
    client: Client, queue: str, command: str
) -> None:
    await client.post(queue, "old")
    stale = await client.fetch(queue)
    await client.finish(stale)
    await client.post(queue, "new")
    current = await client.fetch(queue)
    assert current["sequence"] == stale["sequence"]
    label = await client.begin(command, **claim(stale))
    await client.expect(label, code="NoObject", key=key_of(stale))
    await client.finish(current)


# keepalive


async def test_a_keepalive_starts_the_time_of_one_claim_again(broker: Cluster, client: Client, queue: str) -> None:
    await client.post_all(queue, ["1", "2"])
    kept, left = await client.fetch_all(queue, 2)
    before = _ends_of_claims(broker, kept)
    label = await client.begin("keepalive", **claim(kept))
    await client.expect(label, notice="keepalive")
    after = _ends_of_claims(broker, kept)
    assert after[kept["sequence"]] > before[kept["sequence"]]
    assert after[left["sequence"]] == before[left["sequence"]]


async def test_a_keepalive_for_all_starts_the_time_of_every_claim_of_this_client_again(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.post_all(queue, ["1", "2", "3"])
    mine, others = await client.fetch_all(queue, 2), await other.fetch(queue)
    before = _ends_of_claims(broker, others)
    await client.send({"type": "keepalive", "label": 100})
    await client.expect(100, notice="keepalive")
    after = _ends_of_claims(broker, others)
    assert all(after[message["sequence"]] > before[message["sequence"]] for message in mine)
    assert after[others["sequence"]] == before[others["sequence"]]


async def test_a_keepalive_gives_a_claim_its_own_work_timeout_again(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue, work_timeout=1000)
    broker.query(
        "UPDATE delivery_message SET lease_until = now() + interval '10 s' WHERE queue_id = %s",
        message["shard"],
    )
    label = await client.begin("keepalive", **claim(message))
    await client.expect(label, notice="keepalive")
    [(seconds,)] = broker.query(
        "SELECT extract(epoch FROM lease_until - now())::float FROM delivery_message WHERE queue_id = %s",
        message["shard"],
    )
    assert seconds == pytest.approx(1000, abs=30)


def _ends_of_claims(broker: Cluster, message: Fields) -> dict[int, Any]:
    """When the claims of the message's queue end, by their sequence."""
    rows = broker.query("SELECT sequence, lease_until FROM delivery_message WHERE queue_id = %s", message["shard"])
    return dict(rows)
