"""A connection that has sent very much at once has the event loop for one turn, then others have theirs."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from daphne.ws_protocol import WebSocketFactory
from twisted.internet.address import IPv4Address
from twisted.internet.testing import StringTransport

from delivery.gateway import loop_share
from delivery.storage.presence import Presence
from tests.support.cluster import PATIENCE
from tests.support.raw_websocket import BINARY, PING, TEXT, frame
from tests.unit.willow_site.server.test_private_attributes import HANDSHAKE
from willow_site.server import websocket_protocol, websocket_turns
from willow_site.server.websocket_protocol import PIECE_BYTES, BrokerWebSocketProtocol
from willow_site.server.websocket_turns import LARGEST_PIECE_BYTES, SMALLEST_PIECE_BYTES, TURN_SECONDS, Pieces

FRAMES = 20_000
NO_SOCKET = -1
PART_BYTES = 65_536


class NeverFull(asyncio.Queue[Any]):
    """An inbox without bounds."""

    part_bytes = 0

    def part_grew(self, size: int) -> None:
        self.part_bytes += size

    def part_ended(self) -> None:
        self.part_bytes = 0


class Transport(StringTransport):
    dataBuffer, offset, _tempDataLen = b"", 0, 0

    def fileno(self) -> int:
        return NO_SOCKET

    def writeSomeData(self, data: bytes) -> int:
        self.write(data)
        return len(data)


@pytest.fixture
async def protocol(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(loop_share, "clients_here", Presence())  # the clients of other tests are not there
    server = SimpleNamespace(
        protocol_connected=lambda _: None,
        create_application=lambda *_: NeverFull(),
        log_action=lambda *_: None,
        root_path="",
        proxy_forwarded_address_header=None,
    )
    factory = WebSocketFactory(server)
    factory.protocol = BrokerWebSocketProtocol
    factory.broken_sockets = SimpleNamespace(watch=lambda *_: None)
    factory.setProtocolOptions(utf8validateIncoming=False)
    protocol: Any = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
    protocol._raw_query_string = b""
    protocol.makeConnection(Transport())
    protocol.dataReceived(HANDSHAKE)
    protocol.handle_reply({"type": "websocket.accept"})
    protocol.application_queue.get_nowait()  # websocket.connect
    return protocol


def fragmented(count: int) -> bytes:
    """A message of that many letters, each in a frame of its own."""
    first, last = frame(b"x", opcode=TEXT, final=False), frame(b"x", opcode=0)
    return first + frame(b"x", opcode=0, final=False) * (count - 2) + last


async def all_messages(protocol: Any) -> list[str]:
    """What it hands on, turn by turn."""
    messages = []
    for _ in range(FRAMES):
        while not protocol.application_queue.empty():
            messages.append(protocol.application_queue.get_nowait()["text"])
        if protocol.transport.producerState == "producing":
            break
        await asyncio.sleep(0)
    return messages


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"".join(frame(str(number).encode()) for number in range(FRAMES)), [str(number) for number in range(FRAMES)]),
        (fragmented(FRAMES // 2), ["x" * (FRAMES // 2)]),
        (frame(b"", opcode=PING) * FRAMES + frame(b"last"), ["last"]),
    ],
    ids=["texts", "fragments", "pings"],
)
async def test_much_at_once_takes_several_turns_and_keeps_its_order(
    protocol: Any, data: bytes, expected: list[str]
) -> None:
    protocol.dataReceived(data)
    assert protocol.transport.producerState == "paused", "it went through everything in one turn"
    assert await all_messages(protocol) == expected


async def test_a_little_takes_one_turn(protocol: Any) -> None:
    protocol.dataReceived(frame(b"{}"))
    assert protocol.transport.producerState == "producing"
    assert protocol.application_queue.qsize() == 1


async def test_who_was_kicked_is_heard_no_more(protocol: Any) -> None:
    protocol.stop_reading()
    protocol.dataReceived(frame(b"{}") * 10)
    assert protocol.transport.producerState == "paused"
    assert protocol.application_queue.empty()


@pytest.mark.parametrize(
    ("size", "seconds", "too_slow"), [(60_000, 3600, False), (600_000, 25, False), (600_000, 35, True)]
)
async def test_a_large_message_must_become_whole_in_time(
    protocol: Any, size: int, seconds: float, too_slow: bool
) -> None:
    part = frame(b"x" * size)[:-1]
    for begin in range(0, len(part), 1000):
        protocol._dataReceived(part[begin : begin + 1000])
    protocol._message_began -= seconds
    assert protocol._comes_too_slowly() is too_slow


def test_pieces_become_small_where_bytes_are_dear_and_large_again_where_they_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, pieces = [1000.0], Pieces()
    monkeypatch.setattr(websocket_turns.time, "perf_counter", lambda: now[0])

    def take(seconds: float) -> int:
        with pieces:
            now[0] += seconds
        return pieces.size

    assert take(0.0) == LARGEST_PIECE_BYTES
    assert take(TURN_SECONDS * 20) < LARGEST_PIECE_BYTES
    assert [take(TURN_SECONDS) for _ in range(9)][-1] == SMALLEST_PIECE_BYTES
    assert take(TURN_SECONDS / 4) == SMALLEST_PIECE_BYTES, "that is about right"
    assert [take(0.0) for _ in range(9)][-1] == LARGEST_PIECE_BYTES


async def test_a_large_message_is_kept_in_few_pieces(protocol: Any) -> None:
    """The system gets the room of a large piece back at once."""
    body = bytes(range(256)) * 16 * 1024 * 3
    sent = frame(body, opcode=BINARY)
    for begin in range(0, len(sent), 65_536):
        protocol.dataReceived(sent[begin : begin + 65_536])
    async with asyncio.timeout(PATIENCE):
        event = await protocol.application_queue.get()
    assert b"".join(event["pieces"]) == body
    large = [piece for piece in event["pieces"] if len(piece) >= PIECE_BYTES]
    assert sum(map(len, large)) > len(body) - PIECE_BYTES


@pytest.mark.parametrize("others_are_there", [True, False])
async def test_who_sends_a_large_message_pauses_while_others_are_there(
    protocol: Any, monkeypatch: pytest.MonkeyPatch, others_are_there: bool
) -> None:
    monkeypatch.setattr(Presence, "has_others", lambda *_: others_are_there)
    monkeypatch.setattr(websocket_protocol, "TURN_SECONDS", 0.0)  # each part has used up a turn
    sent = frame(b"x" * (PIECE_BYTES * 2), opcode=BINARY)
    pauses = 0
    for begin in range(0, len(sent), PART_BYTES):
        protocol.dataReceived(sent[begin : begin + PART_BYTES])
        async with asyncio.timeout(PATIENCE):
            while protocol.transport.producerState == "paused":
                pauses += 1
                await asyncio.sleep(0)
        assert begin + PART_BYTES < len(sent) or not protocol.application_queue.empty()
    assert bool(pauses) is others_are_there
    protocol.dataReceived(frame(b"{}"))
    assert protocol.transport.producerState == "producing", "it has begun no other large one"
