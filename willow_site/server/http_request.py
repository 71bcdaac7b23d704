"""Requests over HTTP as the broker takes them from Daphne: without headers that could make Daphne or Channels fail."""

import time
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest

# By it a proxy could move the application to another path. Nobody is asked who sent it, so nobody is believed.
ROOT_PATH = b"daphne-root-path"
SUBPROTOCOLS = b"sec-websocket-protocol"


class CheckedRequest(WebRequest):
    def process(self) -> Any:
        self.requestHeaders.removeHeader(ROOT_PATH)
        if all(value.isascii() for value in self.requestHeaders.getRawHeaders(SUBPROTOCOLS, ())):
            return super().process()
        self.request_start = time.time()
        self.basic_error(400, b"Bad Request", "Sec-WebSocket-Protocol must be ASCII.")
        return None


class CheckedHTTPFactory(HTTPFactory):
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = CheckedRequest
        return protocol
