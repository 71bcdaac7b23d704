"""Section 1 of the protocol: greeting, encodings, batches, bodies, labels, order within a frame."""

import json
from typing import Any

import pytest

from tests.support import bincode
from tests.support.client import Client, claim
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect

U64_MAX = 2**64 - 1


async def test_the_broker_greets_with_an_id_of_its_own_for_each_client(
    broker: Cluster, client: Client, other: Client
) -> None:
    assert client.greeting.keys() == {"type", "id", "node", "version"}
    assert (client.greeting["type"], client.greeting["node"]) == ("hello", broker.node.name)
    assert len(client.id) >= 20
    assert client.id != other.id


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({}, str),
        ({"headers": {"Binary": "true"}}, bytes),
        ({"binary": "true"}, bytes),
        ({"headers": {"Binary": "false"}}, str),
        ({"binary": "false"}, str),
    ],
)
async def test_the_server_speaks_the_encoding_that_was_asked_for(
    connect: Connect, queue: str, how: dict[str, Any], kind: type
) -> None:
    client = await connect(**how)
    await client.post(queue, "text")
    await client.pop(queue)
    assert {type(data) for data in client.received} == {kind}


@pytest.mark.parametrize("binary", ["true", "false"])
async def test_a_connection_may_mix_text_and_binary_frames(connect: Connect, queue: str, binary: str) -> None:
    client = await connect(binary=binary)
    await client.send_binary({"type": "post", "queue": [queue], "message": b"1", "label": 1, "notify": ["sync"]})
    await client.expect(1, notice="sync")
    await client.send({"type": "post", "queue": queue, "message": "2", "label": 2, "notify": ["sync"]})
    await client.expect(2, notice="sync")
    await client.send_binary({"type": "fetch", "queue": queue, "label": 3})
    first = await client.expect(3, type="message", index=1)
    await client.send({"type": "finish", **claim(first), "label": 4, "response": "write"})
    await client.expect(4, notice="write")
    await client.send_binary({"type": "pop", "queue": queue, "label": 5})
    await client.expect(5, type="message", index=2, finished=True)


async def test_a_text_frame_may_hold_an_array_of_commands(client: Client, queue: str) -> None:
    posts = [{"type": "post", "queue": queue, "message": str(n), "label": n, "notify": ["sync"]} for n in (1, 2)]
    await client.send(*posts, {"type": "fetch", "queue": queue, "count": 2, "label": 3})
    await client.expect(1, notice="sync")
    await client.expect(2, notice="sync")
    assert [(await client.next(3))["body"] for _ in range(2)] == ["1", "2"]


async def test_a_binary_frame_may_hold_several_commands_back_to_back(client: Client, queue: str) -> None:
    posts = [
        {"type": "post", "queue": [queue], "message": body, "label": label, "notify": ["sync"]}
        for label, body in ((1, b"1"), (2, b"2"))
    ]
    await client.send_binary(*posts, {"type": "fetch", "queue": queue, "count": 2, "label": 3})
    await client.expect(1, notice="sync")
    await client.expect(2, notice="sync")
    assert [(await client.next(3))["body"] for _ in range(2)] == ["1", "2"]


async def test_a_bad_command_leaves_the_others_of_its_frame_alone(client: Client, queue: str) -> None:
    await client.send(
        {"type": "post", "queue": queue, "message": "good", "label": 1, "notify": ["sync"]},
        {"type": "post", "queue": queue, "message": 5, "label": 2},
        {"type": "pop", "queue": queue, "label": 3},
    )
    await client.expect(1, notice="sync")
    await client.expect(2, type="error", code="BadRequest", key="message")
    await client.expect(3, type="message", body="good")


NONSENSE = [{"type": "nonsense", "label": label} for label in range(100)]


@pytest.mark.parametrize("how", [{"headers": {"Batch": "true"}}, {"batch": "true"}])
async def test_with_batch_replies_share_a_json_frame(connect: Connect, how: dict[str, Any]) -> None:
    client = await connect(**how)
    await client.send(*NONSENSE)
    for command in NONSENSE:
        await client.expect(command["label"], code="BadRequest")
    answers = [json.loads(data) for data in client.received[1:]]
    assert len(answers) < len(NONSENSE)
    assert any(isinstance(answer, list) for answer in answers)


async def test_with_batch_replies_share_a_binary_frame(connect: Connect) -> None:
    client = await connect(binary="true", batch="true")
    await client.send(*NONSENSE)
    for command in NONSENSE:
        await client.expect(command["label"], code="BadRequest")
    assert len(client.received) - 1 < len(NONSENSE)


@pytest.mark.parametrize("binary", ["true", "false"])
async def test_without_batch_every_reply_has_a_frame_of_its_own(connect: Connect, binary: str) -> None:
    client = await connect(binary=binary)
    await client.send(*NONSENSE)
    for command in NONSENSE:
        await client.expect(command["label"], code="BadRequest")
    assert len(client.received) - 1 == len(NONSENSE)


# As posted in JSON, as bytes, as read in JSON.
BODIES = [
    ("plain", b"plain", "plain"),
    ("", b"", ""),
    ("zwölf\0€", "zwölf\0€".encode(), "zwölf\0€"),
    ([104, 105], b"hi", "hi"),
    ([255, 0, 128], b"\xff\x00\x80", [255, 0, 128]),
    ([237, 160, 128], b"\xed\xa0\x80", [237, 160, 128]),
]


@pytest.mark.parametrize(("posted", "as_bytes", "read"), BODIES)
async def test_a_body_is_bytes_however_it_was_posted_and_is_read(
    client: Client, connect: Connect, queue: str, posted: Any, as_bytes: bytes, read: Any
) -> None:
    binary = await connect(binary="true")
    await client.post(queue, posted)
    await client.send_binary({"type": "post", "queue": [queue], "message": as_bytes, "label": 100, "notify": ["sync"]})
    await client.expect(100, notice="sync")
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == [read, read]
    await client.post(queue, posted)
    assert (await binary.fetch(queue))["body"] == as_bytes


@pytest.mark.parametrize(("binary", "label"), [("false", None), ("true", 0)])
async def test_what_answers_a_command_without_label_carries_none(
    connect: Connect, queue: str, binary: str, label: int | None
) -> None:
    client = await connect(binary=binary)
    await client.send({"type": "post", "queue": queue, "message": "m", "notify": ["sync"]})
    await client.expect(label, type="notice", notice="sync")
    await client.send({"type": "pop", "queue": queue})
    await client.expect(label, type="message")
    await client.send({"type": "pop", "queue": queue})
    await client.expect(label, type="nomessage")
    await client.send({"type": "pop", "queue": ""})
    await client.expect(None, type="error", code="BadRequest")


@pytest.mark.parametrize("label", [0, 2**63 - 1, 2**63, U64_MAX])
async def test_labels_come_back_whole_even_from_the_store(
    client: Client, other: Client, queue: str, label: int
) -> None:
    await client.send({"type": "post", "queue": queue, "message": "m", "label": label, "notify": ["sync", "finish"]})
    await client.expect(label, notice="sync")
    await other.finish(await other.fetch(queue))
    await client.expect(label, notice="finish")


async def test_a_largest_label_is_the_same_in_bincode(connect: Connect, queue: str) -> None:
    client = await connect(binary="true")
    await client.send_binary({"type": "pop", "queue": queue, "label": U64_MAX})
    await client.expect(U64_MAX, type="nomessage")
    assert client.received[-1] == bincode.U32.write(3) + bincode.U64.write(U64_MAX)


@pytest.mark.parametrize("read", ["pop", "fetch"])
@pytest.mark.parametrize("known", [False, True], ids=["new queue", "known queue"])
async def test_a_read_gets_what_was_posted_before_it_in_the_same_frame(
    client: Client, queue: str, read: str, known: bool
) -> None:
    if known:
        await client.create(queue)
    await client.send({"type": "post", "queue": queue, "message": "m"}, {"type": read, "queue": queue, "label": 100})
    await client.expect(100, type="message", body="m")


async def test_a_queue_has_the_settings_of_the_create_before_the_post_in_the_same_frame(
    client: Client, queue: str
) -> None:
    await client.send(
        {"type": "create", "queue": queue, "max_length": 1, "label": 100},
        {"type": "post", "queue": queue, "message": "1", "label": 101, "notify": ["sync"]},
        {"type": "post", "queue": queue, "message": "2", "label": 102, "notify": ["sync"]},
    )
    await client.expect(100, type="queue", created=True, max_length=1)
    await client.expect(101, notice="sync")
    await client.expect(102, type="error", code="Overloaded", key=queue)
