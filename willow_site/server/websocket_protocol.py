"""Daphne's WebSocket protocol, with bounds on what it holds in memory for a client.

Import this module only after the event loop was chosen: it imports Twisted's reactor (see `event_loop`).
"""

import asyncio
import time
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from twisted.protocols.policies import ProtocolWrapper
from twisted.python.failure import Failure

from delivery.protocol.limits import FrameEnds
from willow_site.server.websocket_frames import whole_text

NORMAL_CLOSURE = 1000
MOST_READS = 10_000  # of a broken connection: more than the system keeps for one


class BrokerWebSocketProtocol(WebSocketProtocol):
    """Hands each message to the application, or only its size if it is larger than the limit.

    A message that is too large is thrown away while it streams in, but for its two ends; the application gets
    `{"type": "websocket.receive", "too_large": <ends>, "binary": <bool>}` and the connection goes on.
    """

    reading_paused = False
    _ends: FrameEnds | None = None  # of a message that is too large

    def connectionMade(self) -> None:
        super().connectionMade()
        self._outgoing: list[bytes] = []
        self._socket_number = self.transport.fileno()
        self.factory.broken_sockets.watch(self._socket_number, self._find_end)

    def connectionLost(self, reason: Failure) -> None:
        self.factory.broken_sockets.forget(self._socket_number)
        super().connectionLost(reason)

    def _find_end(self) -> None:
        """Read what is left of a broken connection, until Twisted knows that it has ended."""
        transport = self._socket
        for _ in range(MOST_READS):
            if not transport.connected:
                return
            if (end := transport.doRead()) is not None:
                transport.connectionLost(Failure(end))

    def dataReceived(self, data: bytes) -> None:
        if self.state == self.STATE_OPEN and not (self.data or self.inside_message or self.current_frame):
            data = self._take_whole_texts(data)
        if data:
            self._dataReceived(data)  # without the line for the debug log, as below

    def _take_whole_texts(self, data: bytes) -> bytes:
        """Hand on the texts that stand whole at the beginning; returns what follows them."""
        begin = 0
        while not (self.failedByMe or self.muted) and (found := whole_text(data, begin)) is not None:
            text, begin = found
            self.last_ping = time.time()
            if self.autoPingTimeoutCall:
                self._cancelAutoPingTimeoutCall()
            self.application_queue.put_nowait({"type": "websocket.receive", "text": text})
        return data[begin:]

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        """Collect what is sent in this turn of the loop, for one call of the socket.

        Autobahn composes a line for its debug log at each frame, log or not, and Twisted asks the system to tell when
        the socket can be written to, which it nearly always can: together that costs more than the sending.
        """
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._send_collected)
        self._outgoing.append(data)

    def _send_collected(self) -> None:
        data, self._outgoing = b"".join(self._outgoing), []
        transport = self.transport
        if not data or transport is None:
            return
        if transport is not self._socket:  # it has to be encrypted first
            transport.write(data)
            return
        sent = 0
        if transport.connected and not transport.dataBuffer and not transport._tempDataLen:
            written = transport.writeSomeData(data)
            if not isinstance(written, int):
                self._find_end()
                return
            sent = written
        if sent < len(data):
            transport.write(data[sent:])

    def handle_reply(self, message: dict[str, Any]) -> None:
        """As Daphne does it, but a close takes its reason along."""
        if message["type"] == "websocket.close" and self.state == self.STATE_OPEN:
            self.sendClose(code=message.get("code") or NORMAL_CLOSURE, reason=message.get("reason") or None)
        else:
            super().handle_reply(message)

    @property
    def _socket(self) -> Any:
        """Twisted's side of the socket: the transport itself, or what is below it where that encrypts."""
        transport = self.transport
        return transport.transport if isinstance(transport, ProtocolWrapper) else transport

    @property
    def unsent_bytes(self) -> int:
        """What the client has not taken from the socket yet and the system would not take either."""
        transport = self._socket
        return len(transport.dataBuffer) - transport.offset + transport._tempDataLen if transport else 0

    def _closeConnection(self, abort: bool = False) -> None:
        self._send_collected()
        super()._closeConnection(abort)

    def onMessageFrameData(self, payload: bytes) -> None:
        # The total already counts the whole length that the frame has announced.
        if not self._is_too_large():
            self.frame_data.append(payload)
            return
        if self._ends is None:
            self._ends = FrameEnds(*self.message_data, *self.frame_data)
        self._ends.add(payload)

    def onMessageEnd(self) -> None:
        if self.failedByMe or self.muted:
            return
        self.last_ping = time.time()
        self.application_queue.put_nowait(self._received())
        self.message_data: list[bytes] = []  # a large message must not stay until the next one
        self._ends = None

    def _received(self) -> dict[str, Any]:
        if self._is_too_large():
            return {"type": "websocket.receive", "too_large": self._ends, "binary": self.message_is_binary}
        payload = b"".join(self.message_data)
        if self.message_is_binary:
            return {"type": "websocket.receive", "bytes": payload}
        # Text that is not UTF-8 stays recognisable: its command is refused, and the connection stays open.
        return {"type": "websocket.receive", "text": payload.decode(errors="surrogateescape")}

    def _is_too_large(self) -> bool:
        return self.message_data_total_length > settings.WILLOW.max_frame_bytes

    def pause_reading(self) -> None:
        self.transport.pauseProducing()
        self.reading_paused = True
        # Nobody would read the answer to a ping, so none may be waited for.
        if self.autoPingTimeoutCall:
            self._cancelAutoPingTimeoutCall()

    def resume_reading(self) -> None:
        self.reading_paused = False
        self.last_ping = time.time()
        self.transport.resumeProducing()

    def check_timeouts(self) -> None:
        if not self.reading_paused:
            super().check_timeouts()
