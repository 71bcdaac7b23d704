"""Frames that cost far more than their bytes: each is answered, and neither memory nor others pay for it."""

import asyncio
import json
import socket
from threading import Thread

import psutil
import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.raw_websocket import PING, TEXT, RawWebSocket, frame
from willow_site.processes import wait_until

MEBIBYTE = 1024 * 1024


def node_process(broker: Cluster) -> psutil.Process:
    process = broker.node._process
    assert process is not None
    return psutil.Process(process.pid)


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE  # until the broker has looked
    except psutil.NoSuchProcess:
        return True


async def test_a_frame_of_millions_of_objects_is_refused_within_bounded_memory(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    process = node_process(broker)
    before = process.memory_info().rss
    bomb = '{"type": "post", "queue": "q", "label": 7, "message": [' + '{"":0},' * 4_500_000 + "0]}"
    await client.socket.send(bomb)
    await other.post(queue, "meanwhile")
    await client.expect(7, type="error", code="BadRequest", key="message")
    children = sum(child.memory_info().rss for child in process.children())
    assert process.memory_info().rss + children - before < 300 * MEBIBYTE


async def test_large_frames_are_taken_when_their_process_was_killed(
    broker: Cluster, client: Client, queue: str
) -> None:
    body = "x" * (2 * MEBIBYTE)
    await client.post(queue, body)
    decoders = [child for child in node_process(broker).children() if "delivery.gateway.decoder" in child.cmdline()]
    assert decoders
    for decoder in decoders:
        decoder.kill()
    assert wait_until(lambda: all(map(has_ended, decoders)), PATIENCE)
    await client.post(queue, body)
    assert len((await client.pop(queue))["body"]) == len(body)


async def test_a_message_in_too_many_fragments_is_too_large(broker: Cluster) -> None:
    socket = RawWebSocket(broker.node.url)
    text = json.dumps({"type": "pop", "queue": "x" * 20_000, "label": 7}).encode()
    pieces = [frame(text[:1], opcode=TEXT, final=False)]
    pieces += [frame(text[at : at + 1], opcode=0, final=False) for at in range(1, len(text) - 1)]
    pieces.append(frame(text[-1:], opcode=0, final=True))
    socket.socket.sendall(b"".join(pieces))
    answer = b""
    while b"fragments" not in answer:
        answer += await asyncio.to_thread(socket.socket.recv, MEBIBYTE)
    assert b'"code":"TooLarge","key":"16384"' in answer
    assert b'"label":7' in answer
    socket.close()


FRAGMENTED = frame(b"", opcode=TEXT, final=False) + frame(b"", opcode=0, final=False) * 16_000 + frame(b"{}", opcode=0)
FLOODS = {"pings": frame(b"", opcode=PING) * 50_000, "fragments": FRAGMENTED * 8, "nonsense": frame(b"x") * 5_000}
LAST = frame(b'{"type": "keepalive", "label": 77}')


def send_and_read(flooder: RawWebSocket, flood: bytes) -> None:
    """Returns when the last frame was answered."""
    sending = Thread(target=flooder.socket.sendall, args=(flood + LAST,))
    sending.start()
    answers = b""
    while b'"label":77' not in answers:
        more = flooder.socket.recv(MEBIBYTE)
        assert more, "the broker closed the connection"
        answers = answers[-100:] + more
    sending.join()


@pytest.mark.parametrize("kind", FLOODS)
async def test_others_are_served_while_tiny_frames_come(
    broker: Cluster, client: Client, other: Client, queue: str, kind: str
) -> None:
    flooder, rounds = RawWebSocket(broker.node.url), 0
    flooding = asyncio.create_task(asyncio.to_thread(send_and_read, flooder, FLOODS[kind]))
    while not flooding.done():
        await other.post(queue, "meanwhile")
        await client.finish(await client.fetch(queue))
        rounds += 1
    await flooding
    flooder.close()
    assert rounds > 1


async def test_what_only_an_answer_would_tell_is_not_done_for_a_client_that_has_gone(
    broker: Cluster, client: Client, queue: str
) -> None:
    """A node worked on 50,000 fetches for ten seconds after their client had gone, and made a queue for each."""
    gone = RawWebSocket(broker.node.url)
    for batch in range(50):
        gone.send(*({"type": "fetch", "queue": f"{queue}-{batch}-{number}", "label": 1} for number in range(200)))
    gone.send({"type": "post", "queue": queue, "message": "last words"})
    gone.socket.shutdown(socket.SHUT_WR)  # a close would take back what the broker has not read yet
    assert (await client.fetch(queue, block_timeout=PATIENCE))["body"] == "last words"
    [(made,)] = broker.query("SELECT count(*) FROM queues_queue WHERE name LIKE %s", f"{queue}-%")
    gone.close()
    assert made < 5000, "those that were under way when it went, and no more"
