"""What Twisted does with a request before Django has it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from daphne.http_protocol import HTTPFactory
from twisted.internet.address import IPv4Address
from twisted.internet.testing import StringTransport
from twisted.web import http

from willow_site.server import http_factory
from willow_site.server.connections import Connections
from willow_site.server.http_factory import YOUNG_CONNECTIONS, CountingHTTPFactory

FORM = b"username=root&password=guessed"
HEAD = b"POST /admin/login/ HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize("kind", [b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x"])
async def test_forms_are_not_read_in_the_event_loop(kind: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(http, "_parseContentType", read.append)
    asked: list[Any] = []
    channel = _channel(asked)
    channel.dataReceived(HEAD % (kind, len(FORM)) + FORM)
    assert len(asked) == 1, "the application has not got it"
    assert not read
    channel.connectionLost()


def _channel(asked: list[Any]) -> Any:
    """Of a connection; what reaches the application is noted."""

    def create_application(protocol: Any, scope: Any) -> asyncio.Queue[Any]:
        asked.append(scope)
        return asyncio.Queue()

    server = SimpleNamespace(
        protocol_connected=lambda _: None,
        protocol_disconnected=lambda _: None,
        create_application=create_application,
        log_action=lambda *_: None,
        root_path="",
        proxy_forwarded_address_header=None,
        proxy_forwarded_port_header=None,
        proxy_forwarded_proto_header=None,
    )
    factory: HTTPFactory = CountingHTTPFactory(server, Connections(files=1000, most_of_address=0, trusted=()))
    channel: Any = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
    channel.makeConnection(StringTransport())
    return channel


def test_the_collector_is_called_for_every_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself it would come once for hundreds of them, and keep everybody waiting."""
    collected: list[int] = []
    monkeypatch.setattr(http_factory.gc, "collect", collected.append)
    factory = _channel([]).factory
    for _ in range(3 * YOUNG_CONNECTIONS - 1):
        factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
    assert collected == [0, 0, 0]


class Request:
    channel = None  # its connection is gone


@pytest.mark.parametrize(("status", "was_for_nothing"), [(429, 1), (503, 1), (200, 0), (401, 0)])
async def test_who_is_to_come_later_makes_requests_pause_longer(
    monkeypatch: pytest.MonkeyPatch, status: int, was_for_nothing: int
) -> None:
    from willow_site.server import broker_server

    counted = list[int]()
    monkeypatch.setattr(broker_server.turns, "was_for_nothing", lambda: counted.append(1))
    server = broker_server.BrokerServer.__new__(broker_server.BrokerServer)
    server.connections = {}
    await server._answer_request(Request(), {"type": "http.response.start", "status": status})  # type: ignore[arg-type]
    assert len(counted) == was_for_nothing
