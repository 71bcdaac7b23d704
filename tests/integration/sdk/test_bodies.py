"""Bodies are bytes, of any content and up to the limit; what is larger is refused at once."""

import os

import pytest
import willow_client
from willow_client import BadArgument, Client, TooLarge

from tests.support.cluster import PATIENCE
from tests.support.fixtures import StartCluster

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    "body",
    [
        b"",
        bytes(range(256)),
        "grüße 🌳".encode(),
        b'\0\r\n"\\' * 1000,
        b"\0" * (6 * MEBIBYTE),  # six characters each in JSON
        os.urandom(10_000_000),
        os.urandom(16 * MEBIBYTE),
    ],
    ids=lambda body: f"{len(body)} bytes",
)
async def test_a_body_comes_back_as_it_was(client: Client, queue: str, body: bytes) -> None:
    await client.post(queue, body)
    message = await client.fetch(queue, block_timeout=PATIENCE)
    assert message is not None and message.body == body
    await message.finish()


async def test_bytes_never_travel_as_numbers(client: Client, queue: str, texts_sent: list[bytes]) -> None:
    await client.post(queue, bytes(range(256)))
    assert b"[0,1,2" not in texts_sent[0] and b'{"base64":"' in texts_sent[0]


@pytest.mark.parametrize("body", [bytes(16 * MEBIBYTE + 1), "x" * (16 * MEBIBYTE + 1), "ü" * (8 * MEBIBYTE + 1)])
async def test_a_body_that_is_too_large_is_refused_at_once(client: Client, queue: str, body: bytes | str) -> None:
    with pytest.raises(TooLarge) as refusal:
        await client.post(queue, body)
    assert refusal.value.key == str(16 * MEBIBYTE)


@pytest.mark.parametrize("size", [2_000, 20_000])  # a body that is too large, and a frame
async def test_the_brokers_own_limit_is_told_too(start_cluster: StartCluster, queue: str, size: int) -> None:
    limits = {"WILLOW_MAX_BODY_BYTES": "1000", "WILLOW_MAX_FRAME_BYTES": "10000"}
    with start_cluster(**limits) as small:
        async with willow_client.connect(small.node.url) as client:
            with pytest.raises(TooLarge):
                await client.post(queue, "x" * size, timeout=PATIENCE)
            await client.post(queue, "x" * 500)


async def test_other_values_are_refused_with_a_remedy(client: Client, queue: str) -> None:
    with pytest.raises(BadArgument, match=r"not dict.*json\.dumps"):
        await client.post(queue, {"a": 1})  # type: ignore[call-overload]


async def test_half_a_surrogate_pair_is_named(client: Client, queue: str) -> None:
    with pytest.raises(BadArgument, match="`message` has half a surrogate pair at position 2"):
        await client.post(queue, "ab\ud800")


async def test_a_message_reads_json_and_shows_itself(client: Client, queue: str) -> None:
    await client.post(queue, '{"to": "ada"}', tags="eu")
    message = await client.fetch(queue, tags="eu", block_timeout=PATIENCE)
    assert message is not None and message.json() == {"to": "ada"}
    assert repr(message) == f"<Message 1 of {queue} ['eu'], attempt 1: '{{\"to\": \"ada\"}}'>"
    await message.finish()
