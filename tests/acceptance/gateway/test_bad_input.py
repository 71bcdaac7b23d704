"""Frames that no client should send: each gets its error, and nobody's connection suffers from it."""

import json
import struct
from typing import Any

import pytest

from tests.support import bincode
from tests.support.client import Client

MEBIBYTE = 1024 * 1024


def j(**fields: Any) -> str:
    return json.dumps(fields)


def post(**fields: Any) -> str:
    return json.dumps({"type": "post", "queue": "q", "message": "m", "label": 7} | fields)


def fetch(**fields: Any) -> str:
    return json.dumps({"type": "fetch", "queue": "q", "label": 7} | fields)


def finish(**fields: Any) -> str:
    return json.dumps({"type": "finish", "queue": "q", "shard": 1, "sequence": 1, "label": 7} | fields)


def create(**fields: Any) -> str:
    return json.dumps({"type": "create", "queue": "q", "label": 7} | fields)


def length(number: int) -> bytes:
    return struct.pack("<Q", number)


def text(value: bytes) -> bytes:
    return length(len(value)) + value


POST, POP, FETCH = (struct.pack("<I", variant) for variant in (0, 1, 2))
GOOD_POP = bincode.encode({"type": "pop", "queue": "q", "label": 7})
DEEP = "[" * 100_000 + "]" * 100_000

# The frame, the key of its error, and the label, as far as the broker can know it.
MALFORMED = {
    # not JSON, or not commands
    "no JSON": ("hello?", "frame", None),
    "empty text": ("", "frame", None),
    "cut off": ('{"type":"pop","queue":"q"', "frame", None),
    "a number": ("5", "frame", None),
    "null": ("null", "frame", None),
    "an empty array": ("[]", "frame", None),
    "an array of arrays": ("[[]]", "frame", None),
    "nested deeply": (DEEP, "frame", None),
    "objects nested deeply": ('{"a":' * 50_000 + "1" + "}" * 50_000, "frame", None),
    "two values": ('{"type":"pop","queue":"q"} {}', "frame", None),
    "single quotes": ("{'type': 'pop'}", "frame", None),
    # type
    "no type": (j(queue="q", label=7), "type", 7),
    "an unknown type": (j(type="push", queue="q", label=7), "type", 7),
    "a type of the server": (j(type="hello", label=7), "type", 7),
    "a type that is no text": (j(type=0, queue="q", label=7), "type", 7),
    "a type in capitals": (j(type="POP", queue="q", label=7), "type", 7),
    # missing fields
    "post without queue": (j(type="post", message="m", label=7), "queue", 7),
    "post without message": (j(type="post", queue="q", label=7), "message", 7),
    "pop without queue": (j(type="pop", label=7), "queue", 7),
    "fetch without queue": (j(type="fetch", label=7), "queue", 7),
    "finish without sequence": (j(type="finish", queue="q", shard=1, label=7), "sequence", 7),
    "finish without shard": (j(type="finish", queue="q", sequence=1, label=7), "shard", 7),
    "fail without queue": (j(type="fail", shard=1, sequence=1, label=7), "queue", 7),
    "keepalive with half a message": (j(type="keepalive", queue="q", label=7), "sequence", 7),
    "create without queue": (j(type="create", label=7), "queue", 7),
    # wrong types
    "a queue that is a number": (post(queue=5), "queue", 7),
    "queues that are numbers": (post(queue=[1, 2]), "queue", 7),
    "a message that is a number": (post(message=5), "message", 7),
    "a message that is an object": (post(message={}), "message", 7),
    "a message of texts": (post(message=["a"]), "message", 7),
    "a message of numbers that are no bytes": (post(message=[256]), "message", 7),
    "a message of negative bytes": (post(message=[-1]), "message", 7),
    "tags that are a text": (post(tags="a"), "tags", 7),
    "a tag that is a number": (post(tags=[1]), "tags", 7),
    "a priority that is a text": (post(priority="high"), "priority", 7),
    "a priority with a fraction": (post(priority=1.5), "priority", 7),
    "a label that is a text": (post(label="7"), "label", None),
    "a label that is true": (post(label=True), "label", None),
    "notify that is a text": (post(notify="sync"), "notify", 7),
    "notify of an unknown stage": (post(notify=["stored"]), "notify", 7),
    "notify of a stage that posts do not have": (post(notify=["keepalive"]), "notify", 7),
    "a delay that is a text": (post(delay="1"), "delay", 7),
    "a key that is a number": (post(key=1), "key", 7),
    "a sync that does not exist": (fetch(sync="assign"), "sync", 7),
    "a match that does not exist": (fetch(match="some"), "match", 7),
    "a block_timeout that is a text": (fetch(block_timeout="1"), "block_timeout", 7),
    "a response that does not exist": (finish(response="finish"), "response", 7),
    "a sequence that is a text": (finish(sequence="1"), "sequence", 7),
    "a kind that does not exist": (create(kind="topic"), "kind", 7),
    "an overflow that does not exist": (create(overflow="drop"), "overflow", 7),
    "updatable that is a text": (create(updatable="yes"), "updatable", 7),
    # values out of range
    "an empty name": (post(queue=""), "queue", 7),
    "no queue at all": (post(queue=[]), "queue", 7),
    "a name that is too long": (post(queue="q" * 201), "queue", 7),
    "a name that is not ASCII": (post(queue="naïve"), "queue", 7),
    "a name with a line break": (post(queue="a\nb"), "queue", 7),
    "a NUL in a tag": (post(tags=["a\0b"]), "tags", 7),
    "a NUL in a key": (post(key="\0"), "key", 7),
    "a NUL in an error": (
        j(type="fail", queue="q", shard=1, sequence=1, label=7, error="\0"),
        "error",
        7,
    ),
    "a negative priority": (post(priority=-1), "priority", 7),
    "a huge priority": (post(priority=2**32), "priority", 7),
    "a negative label": (post(label=-1), "label", None),
    "a huge label": (post(label=2**64), "label", None),
    "a negative delay": (post(delay=-1), "delay", 7),
    "a delay of ages": (post(delay=1e300), "delay", 7),
    "a delay that is no number": ('{"type":"post","queue":"q","message":"m","delay":NaN}', "delay", None),
    "a ttl without end": ('{"type":"post","queue":"q","message":"m","ttl":1e999}', "ttl", None),
    "a huge sequence": (finish(sequence=2**64), "sequence", 7),
    "a huge shard": (finish(shard=10**4000), "shard", 7),
    "a count of none": (fetch(count=0), "count", 7),
    "a count without measure": (fetch(count=2**31), "count", 7),
    "a negative work_timeout": (fetch(work_timeout=-0.1), "work_timeout", 7),
    "a negative retry_limit": (create(retry_limit=-1), "retry_limit", 7),
    "a heartbeat_timeout of nothing": (create(heartbeat_timeout=0), "heartbeat_timeout", 7),
    "a max_length of nothing": (create(max_length=0), "max_length", 7),
    "a lone surrogate": ('{"type":"pop","queue":"\\ud800","label":7}', "queue", 7),
    # bincode
    "an empty binary frame": (b"", "frame", None),
    "half a variant": (b"\0\0", "type", None),
    "an unknown variant": (b"\xff\0\0\0", "type", None),
    "JSON in a binary frame": (b'{"type":"pop","queue":"q"}', "type", None),
    "a truncated pop": (GOOD_POP[:-3], "label", None),
    "a pop without its name": (POP, "queue", None),
    "a name longer than its frame": (POP + length(1000) + b"q", "queue", None),
    "a name of all memory": (POP + length(2**64 - 1) + b"q", "queue", None),
    "more names than fit": (POST + length(2**63) + text(b"q"), "queue", None),
    "a body that lies about its length": (POST + length(1) + text(b"q") + length(0) + length(2**40), "message", None),
    "a name that is not UTF-8": (POP + text(b"\xff\xfe"), "queue", None),
    "a tag that is not UTF-8": (POP + text(b"q") + length(1) + text(b"\xc3"), "tags", None),
    "an option that is neither": (POP + text(b"q") + length(0) + b"\2", "match", None),
    "a match that stands for nothing": (POP + text(b"q") + length(0) + b"\1\x09\0\0\0", "match", None),
    "a sync that stands for nothing": (
        FETCH + text(b"q") + length(0) + b"\0" + bytes(8) + b"\0" + b"\x08\0\0\0",
        "sync",
        None,
    ),
    "a timeout that is no number": (
        POP + text(b"q") + length(0) + b"\0\1" + struct.pack("<d", float("nan")) + b"\0" + length(7),
        "timeout",
        7,
    ),
    "an empty name in bincode": (bincode.encode({"type": "pop", "queue": "", "label": 7}), "queue", 7),
    "a second command cut off": (
        bincode.encode({"type": "post", "queue": ["q"], "message": b"m"}) + GOOD_POP[:9],
        "queue",
        None,
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
async def test_a_malformed_frame_gets_its_error_and_everything_goes_on(
    client: Client, other: Client, queue: str, case: str
) -> None:
    frame, key, label = MALFORMED[case]
    await client.socket.send(frame)
    error = await client.expect(label, type="error", code="BadRequest", key=key)
    assert error["message"]
    for anybody in (client, other):
        await anybody.post(queue, "m")
        assert (await anybody.pop(queue))["body"] == "m"
    assert client.unread() == []


@pytest.mark.parametrize("padding", ["", " " * 70_000], ids=["short", "long"])
async def test_a_text_that_is_no_utf8_is_refused_alone(client: Client, queue: str, padding: str) -> None:
    good = j(type="post", queue=queue, message="m", label=8, notify=["sync"])
    bad = post(message="\x00").replace("\\u0000", "\x00")
    frame = f"[{padding}{bad},{good}]".encode().replace(b"\x00", b"\xff")
    await client.socket.send(frame, text=True)
    await client.expect(7, type="error", code="BadRequest", key="message")
    await client.expect(8, notice="sync")


async def test_a_text_that_is_no_utf8_may_come_in_pieces(client: Client, queue: str) -> None:
    await client.socket.send([b'{"type":"pop","label":7,"queue":"', b"\xff", b'"}'], text=True)
    await client.expect(7, type="error", code="BadRequest", key="queue")
    await client.post(queue, "m")


@pytest.mark.parametrize("filler", ["x", b"x"], ids=["text", "binary"])
async def test_a_frame_of_a_hundred_megabytes_is_too_large(
    client: Client, other: Client, queue: str, filler: str | bytes
) -> None:
    await client.socket.send(filler * (100 * MEBIBYTE))
    await client.expect(None, type="error", code="TooLarge", key=str(32 * MEBIBYTE))
    for anybody in (client, other):
        await anybody.post(queue, "m")
        assert (await anybody.pop(queue))["body"] == "m"


async def test_the_largest_body_goes_through(client: Client, queue: str) -> None:
    await client.post(queue, "x" * (16 * MEBIBYTE))
    assert len((await client.pop(queue))["body"]) == 16 * MEBIBYTE


async def test_a_body_that_is_too_large_is_refused_alone(client: Client, queue: str) -> None:
    label = await client.begin("post", queue, message="x" * (16 * MEBIBYTE + 1))
    await client.expect(label, type="error", code="TooLarge", key=str(16 * MEBIBYTE))
    await client.post(queue, "m")
