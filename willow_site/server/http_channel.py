"""One connection before it is a WebSocket: a request must be complete in time, and is refused while it comes in."""

import logging
from typing import Any

from twisted.web.http import HTTPChannel

from willow_site.server.connections import Connections
from willow_site.server.http_answers import UnreadOverHttp
from willow_site.server.http_refusal import Refusal, too_slow
from willow_site.server.http_turns import HttpTurns, wants_websocket
from willow_site.server.transports import forget_unsent

HEADER_SECONDS = 10.0  # from the first byte, or from the connection on, TLS included
BODY_SECONDS = 20.0  # and more for a large one:
SLOWEST_BYTES = 64 * 1024  # a second
LINGER_SECONDS = 2.0  # for a client to read why it was refused, while it is still sending
LINGER_BYTES = 64 * 1024 * 1024  # that are thrown away meanwhile

logger = logging.getLogger(__name__)

turns = HttpTurns()


class DeadlineChannel(HTTPChannel):
    """Twisted's own deadline starts again with every byte, so one byte a minute would keep a connection for good."""

    transport: Any
    callLater: Any
    refused = False
    _is_gone = False
    _deadline: Any = None
    _thrown_away = 0  # bytes
    unread: UnreadOverHttp | None = None

    def __init__(self, connections: Connections, address: str) -> None:
        super().__init__()
        self._connections = connections
        self._address = address
        self._untaken = bytearray()  # while it waits for its turn

    def connectionMade(self) -> None:
        super().connectionMade()
        self._expect_within(HEADER_SECONDS)

    def connectionLost(self, reason: Any = None) -> None:
        self._is_gone = True
        self._expect_nothing()
        self._connections.went(self._address)
        if self.unread is not None:
            self.unread.end()
            forget_unsent(self.transport)
        super().connectionLost(reason)

    def dataReceived(self, data: bytes) -> None:
        if self._handlingRequest:  # it keeps a little of what follows, and reads no more
            self._take(data)
        elif self._untaken:
            self._untaken += data
        elif turns.must_wait() and not self._goes_first(data):
            self._untaken += data
            self.transport.pauseProducing()
            turns.wait(self._take_in_turn, is_body=bool(self.requests))
        else:
            turns.begin(lambda: self._take(data))

    def _goes_first(self, data: bytes) -> bool:
        return not self.requests and not self.refused and wants_websocket(data)

    def _take_in_turn(self) -> None:
        data, self._untaken = bytes(self._untaken), bytearray()
        if self._is_gone:
            return
        self.transport.resumeProducing()
        try:
            self._take(data)
        except Exception:
            logger.exception("A part of a request could not be taken")  # such as for want of room for its body
            self.transport.abortConnection()

    def _take(self, data: bytes) -> None:
        if self.refused:
            self._throw_away(data)
            return
        if self._deadline is None and not self._handlingRequest:  # another request on the same connection
            self._expect_within(HEADER_SECONDS)
        super().dataReceived(data)

    def _throw_away(self, data: bytes) -> None:
        self._thrown_away += len(data)
        if self._thrown_away > LINGER_BYTES:
            self.transport.pauseProducing()

    def lineReceived(self, line: bytes) -> None:
        if not self.refused:
            super().lineReceived(line)

    def rawDataReceived(self, data: bytes) -> None:
        if not self.refused:
            super().rawDataReceived(data)

    def allHeadersReceived(self) -> None:
        super().allHeadersReceived()
        if self.length != 0 and not self.refused:
            self._expect_within(BODY_SECONDS + (self.length or 0) / SLOWEST_BYTES)

    def allContentReceived(self) -> None:
        self._expect_nothing()
        if not self.refused:
            super().allContentReceived()

    def _send100Continue(self) -> None:
        if not self.refused:
            super()._send100Continue()

    def refuse(self, refusal: Refusal) -> None:
        """Answer now, and end the connection when the client could have read that."""
        if self.refused:
            return
        self.refused = True
        self._expect_nothing()
        self.setTimeout(None)
        self.transport.write(refusal.answer)
        if hasattr(self.transport, "loseWriteConnection"):  # not where it is encrypted
            self.transport.loseWriteConnection()
        self._deadline = self.callLater(LINGER_SECONDS, self._drop)

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._connections.waits(self)
        self._deadline = self.callLater(seconds, self._is_late, seconds)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
        self._connections.waits_no_longer(self)

    def _is_late(self, seconds: float) -> None:
        self._deadline = None
        self.refuse(too_slow(seconds))

    def _drop(self) -> None:
        self._deadline = None
        self.transport.abortConnection()
