"""Everything undocumented of Daphne, Twisted and Autobahn that willow_site/server/ depends on."""

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import tcp
from twisted.internet.address import IPv4Address
from twisted.internet.testing import StringTransport

from tests.support.private_attributes import assert_has

SWITCH = "WILLOW_PLAIN_DAPHNE"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
FIRST_OF_TWO_FRAGMENTS = b"\x01\x81\x00\x00\x00\x00a"
OF_AUTOBAHN = """
    CONFIG_ATTRS STATE_OPEN _cancelAutoPingTimeoutCall _closeConnection _dataReceived autoPingTimeoutCall current_frame
    current_frame_masker data failedByMe frame_data inside_message message_data message_data_total_length
    message_is_binary onMessageEnd onMessageFrameBegin onMessageFrameData onPing sendClose sendData state
"""
OF_DAPHNES_PROTOCOL = "application_queue check_timeouts handle_reply last_ping muted"
OF_DAPHNES_SERVER = "create_application handle_reply run stop"
OF_TWISTED = "_tempDataBuffer _tempDataLen connected connectionLost dataBuffer doRead offset writeSomeData"
OF_ASYNCIOS_QUEUE = "_get _put _queue"


@pytest.fixture
def protocol() -> WebSocketProtocol:
    """One whose client is in the middle of a message."""
    server = SimpleNamespace(
        protocol_connected=lambda _: None,
        create_application=lambda *_: asyncio.Queue(),
        log_action=lambda *_: None,
        root_path="",
        proxy_forwarded_address_header=None,
    )
    protocol: Any = WebSocketFactory(server).buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
    protocol._raw_query_string = b""
    protocol.makeConnection(StringTransport())
    protocol.dataReceived(HANDSHAKE)
    protocol.handle_reply({"type": "websocket.accept"})
    protocol.dataReceived(FIRST_OF_TWO_FRAGMENTS)
    return protocol


def test_autobahn_has_what_the_protocol_reads_and_overrides(protocol: WebSocketProtocol) -> None:
    assert_has("autobahn", protocol, OF_AUTOBAHN, used_by="willow_site/server/websocket_protocol.py", switch=SWITCH)


def test_daphne_has_what_protocol_and_server_override(protocol: WebSocketProtocol) -> None:
    used_by = "willow_site/server/websocket_protocol.py"
    assert_has("daphne", protocol, OF_DAPHNES_PROTOCOL, used_by=used_by, switch=SWITCH)


def test_daphnes_server_has_what_ours_overrides() -> None:
    assert_has("daphne", Server, OF_DAPHNES_SERVER, used_by="willow_site/server/broker_server.py", switch=SWITCH)


def test_a_message_is_put_together_where_ours_looks_for_it(protocol: Any) -> None:
    assert protocol.inside_message
    assert (protocol.message_is_binary, protocol.message_data_total_length) == (False, 1)


def test_twisted_has_what_the_protocol_reads_of_a_connection() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = tcp.Connection(ours, None, None)
        used_by = "willow_site/server/websocket_protocol.py"
        assert_has("twisted", connection, OF_TWISTED, used_by=used_by, switch=SWITCH)
        assert (connection.dataBuffer, connection.offset, connection._tempDataLen) == (b"", 0, 0)


def test_asyncios_queue_has_what_the_inbox_overrides() -> None:
    for name in OF_ASYNCIOS_QUEUE.split():
        assert hasattr(asyncio.Queue(), name), f"asyncio.Queue has no {name}, on which websocket_inbox.py depends."


def test_what_is_missing_is_said_in_one_sentence(protocol: WebSocketProtocol) -> None:
    with pytest.raises(pytest.fail.Exception) as said:
        assert_has("autobahn", protocol, "data was_moved", used_by="this test", switch=SWITCH)
    sentence = str(said.value)
    assert " has no was_moved in WebSocketProtocol, on which this test depends. " in sentence
    assert sentence.endswith(f"or run with {SWITCH}=on.")
