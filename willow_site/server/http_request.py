"""Requests over HTTP as the broker takes them from Daphne: of bounded size, and without headers that make it fail."""

import time
from typing import Any

from daphne.http_protocol import WebRequest

from willow_site.server.http_bodies import BodiesUnderWay, most_bytes
from willow_site.server.http_refusal import body_too_large, too_many_bodies

# By it a proxy could move the application to another path. Nobody is asked who sent it, so nobody is believed.
ROOT_PATH = b"daphne-root-path"
SUBPROTOCOLS = b"sec-websocket-protocol"


class CheckedRequest(WebRequest):
    """Its body is refused by the length that it announces, or else while it comes in."""

    bodies = BodiesUnderWay()  # of this process
    _counted = 0  # bytes of its body, in `bodies`
    _received = 0  # bytes of its body

    def __init__(self, *arguments: Any, **named: Any) -> None:
        # Django reads forms, in a thread; Twisted would read them first, in the event loop.
        super().__init__(*arguments, **{**named, "parsePOSTFormSubmission": False})

    def gotLength(self, length: int | None) -> None:
        super().gotLength(length)
        if length:
            self._take(length)

    def handleContentChunk(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > self._counted:  # its length was not announced
            self._take(self._received - self._counted)
        if not self.channel.refused:
            super().handleContentChunk(data)

    def _take(self, size: int) -> None:
        limit = most_bytes(self.channel._path)
        whole = self._counted + size
        if whole > limit:
            self.channel.refuse(body_too_large(limit))
        elif not self.bodies.take(size, whole):
            self.channel.refuse(too_many_bodies(self.bodies.most_bytes))
        else:
            self._counted = whole

    def _give_back(self) -> None:
        self.bodies.give_back(self._counted)
        self._counted = 0

    def process(self) -> Any:
        self.requestHeaders.removeHeader(ROOT_PATH)
        if all(value.isascii() for value in self.requestHeaders.getRawHeaders(SUBPROTOCOLS, ())):
            return super().process()
        self.request_start = time.time()
        self.basic_error(400, b"Bad Request", "Sec-WebSocket-Protocol must be ASCII.")
        return None

    def finish(self) -> None:
        self._give_back()
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        self._give_back()
        super().connectionLost(reason)
