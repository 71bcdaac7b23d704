"""Bodies in JSON: as base64 for those who ask, and never in a frame that is larger than a frame may be."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client import Client, Fields
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.workers import working

BYTES = bytes(range(256))


def in_base64(body: bytes) -> Fields:
    return {"base64": base64.b64encode(body).decode()}


async def test_a_body_may_be_posted_as_base64(connect: Connect, client: Client, queue: str) -> None:
    await client.post(queue, in_base64(BYTES))  # type: ignore[arg-type]
    await client.post(queue, in_base64("text é".encode()))  # type: ignore[arg-type]
    first, second = await client.fetch_all(queue, 2)
    assert (first["body"], second["body"]) == (list(BYTES), "text é")


@pytest.mark.parametrize("how", [{"headers": {"Bytes": "base64"}}, {"bytes": "base64"}, {"bytes": " BASE64 "}])
async def test_who_asks_gets_base64(connect: Connect, client: Client, queue: str, how: Any) -> None:
    await client.post(queue, in_base64(BYTES))  # type: ignore[arg-type]
    await client.post(queue, "text")
    reader = await connect(**how)
    first, second = await reader.fetch_all(queue, 2)
    assert (first["body"], second["body"]) == (in_base64(BYTES), "text")


async def test_another_form_is_a_bad_handshake(connect: Connect) -> None:
    refused = await connect(bytes="hex")
    assert (refused.greeting["code"], refused.greeting["key"]) == ("BadRequest", "bytes")
    assert await refused.closed_by_broker() == 4400


async def test_replies_requests_and_answers_of_workers_too(connect: Connect, queue: str, service: str) -> None:
    poster, worker = await connect(bytes="base64"), await connect(bytes="base64")
    label = await poster.begin("post", queue, message="m", notify=["finish"])
    await worker.finish(await worker.fetch(queue, block_timeout=30), reply=in_base64(BYTES))
    await poster.expect(label, notice="finish", reply=in_base64(BYTES))
    serving = await working(worker, service)
    await poster.send({"type": "workrequest", "service": service, "body": in_base64(BYTES), "label": 900})
    request = await serving.request(body=in_base64(BYTES))
    await serving.reply(request, in_base64(BYTES[::-1]))  # type: ignore[arg-type]
    await poster.expect(900, type="workreply", body=in_base64(BYTES[::-1]))


# sizes


LARGEST_BODY, LARGEST_FRAME = 100_000, 140_000


@pytest.fixture(scope="module")
def narrow(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(WILLOW_MAX_BODY_BYTES=str(LARGEST_BODY), WILLOW_MAX_FRAME_BYTES=str(LARGEST_FRAME)) as cluster:
        yield cluster


@pytest.mark.parametrize("body", [b"\xff" * LARGEST_BODY, b"\0" * LARGEST_BODY, b"x" * LARGEST_BODY])
async def test_the_largest_body_reaches_a_reader_of_json(
    narrow: Cluster, connect: Connect, queue: str, body: bytes
) -> None:
    poster, reader = await connect(narrow.node), await connect(narrow.node)
    await poster.send_binary({"type": "post", "queue": [queue], "message": body, "notify": ["sync"], "label": 900})
    await poster.expect(900, notice="sync")
    message = await reader.fetch(queue)
    given = message["body"]
    assert (given.encode() if isinstance(given, str) else base64.b64decode(given["base64"])) == body
    assert all(len(frame) <= LARGEST_FRAME for frame in reader.received)


async def test_a_list_that_fits_stays_a_list(narrow: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(narrow.node)
    await client.send_binary({"type": "post", "queue": [queue], "message": b"\xff" * 30_000})
    assert (await client.fetch(queue, block_timeout=30))["body"] == [255] * 30_000


async def test_joined_frames_are_no_larger_either(narrow: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(narrow.node)
    for _ in range(5):
        await client.post(queue, "x" * 60_000)
    for how in ({"batch": "true"}, {"batch": "true", "binary": "true"}):
        reader = await connect(narrow.node, **how)
        label = await reader.begin("fetch", queue, count=5)
        await reader.messages(label, 5)
        assert 3 <= len(reader.received) - 1 <= 5
        assert all(len(frame) <= LARGEST_FRAME for frame in reader.received)
        await reader.send({"type": "release", "label": 99, "response": "write"})
        await reader.expect(99, notice="write")


async def test_a_body_that_no_frame_could_bring_to_a_reader_of_json_is_refused(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster(WILLOW_MAX_BODY_BYTES="10000", WILLOW_MAX_FRAME_BYTES="12000") as tight:
        client = await connect(tight.node)
        await client.post(queue, "x" * 10_000)
        await client.send_binary({"type": "post", "queue": [queue], "message": b"\xff" * 10_000, "label": 900})
        refused = await client.expect(900, type="error", code="TooLarge", key="12000")
        assert "12000" in refused["message"]
        await client.send_binary({"type": "post", "queue": [queue], "message": b"\xff" * 8_000})
        assert len((await client.pop(queue))["body"]) == 10_000
        assert set(await client.fetch(queue, block_timeout=30)) >= {"body"}


@pytest.mark.parametrize("size", [LARGEST_FRAME, 1_000_000])
async def test_a_frame_that_is_too_large_is_answered_with_its_label(
    narrow: Cluster, connect: Connect, queue: str, size: int
) -> None:
    client = await connect(narrow.node)
    too_large = {"type": "error", "code": "TooLarge", "key": str(LARGEST_FRAME)}
    await client.send({"type": "post", "queue": queue, "message": "x" * size, "label": 901})
    await client.expect(901, **too_large)
    await client.send({"label": 902, "type": "post", "queue": queue, "message": "x" * size})
    await client.expect(902, **too_large)
    await client.send({"type": "post", "queue": queue, "message": [1] * size, "label": 903, "headers": {}})
    await client.expect(903, **too_large)
    await client.send_binary({"type": "post", "queue": [queue], "message": b"x" * size, "label": 904})
    await client.expect(904, **too_large)
    post = {"type": "post", "queue": queue, "message": "x" * size, "label": 905}
    await client.send(post, post)
    await client.expect(None, **too_large)
    await client.post(queue, "the connection goes on")


@pytest.mark.parametrize("fragments", [2, 7])
async def test_a_frame_in_fragments_is_answered_with_its_label(
    narrow: Cluster, connect: Connect, queue: str, fragments: int
) -> None:
    client = await connect(narrow.node)
    text = '{"type":"post","queue":"q","message":"' + "x" * 300_000 + '","label":901}'
    step = len(text) // fragments + 1
    await client.socket.send([text[at : at + step] for at in range(0, len(text), step)])
    await client.expect(901, type="error", code="TooLarge", key=str(LARGEST_FRAME))
    await client.post(queue, "the connection goes on")
