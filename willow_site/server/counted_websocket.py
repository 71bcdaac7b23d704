"""Daphne's WebSocket protocol, which says when its connection has ended: until then its address has one more."""

from typing import Any

from daphne.ws_protocol import WebSocketProtocol


class CountedWebSocketProtocol(WebSocketProtocol):
    def connectionLost(self, reason: Any) -> None:
        self.factory.connections.went(self.transport.getPeer().host)
        super().connectionLost(reason)
