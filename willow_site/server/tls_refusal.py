"""A client that speaks TLS to a plain port is told at once. Otherwise both sides would wait for each other."""

from typing import Any

from daphne.http_protocol import HTTPFactory

TLS_HANDSHAKE = 0x16  # the first byte of every TLS connection, and of no HTTP request
ANSWER = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def refuse_tls(factory: HTTPFactory) -> None:
    """Look at the first bytes of each connection that this factory is given, and at no others."""
    build = factory.buildProtocol

    def build_and_look(address: Any) -> Any:
        protocol = build(address)
        protocol.dataReceived = lambda data: _look(protocol, data)
        return protocol

    factory.buildProtocol = build_and_look


def _look(protocol: Any, data: bytes) -> None:
    del protocol.dataReceived  # from here on it is that of the class
    if data[0] == TLS_HANDSHAKE:
        transport = protocol.transport
        transport.write(ANSWER)
        transport.loseConnection()
    else:
        protocol.dataReceived(data)
