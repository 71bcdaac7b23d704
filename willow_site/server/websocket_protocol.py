"""Daphne's WebSocket protocol, with bounds on what it holds in memory for a client.

Import this module only after the event loop was chosen: it imports Twisted's reactor (see `event_loop`).
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from twisted.python.failure import Failure

from delivery.gateway.large_frames import LARGE_BYTES
from delivery.gateway.loop_share import LoopShare
from delivery.protocol.close_codes import TOO_SLOW
from delivery.protocol.limits import MOST_FRAGMENTS, FrameEnds
from willow_site.server.counted_websocket import CountedWebSocketProtocol
from willow_site.server.transports import forget_unsent, socket_of, unsent_bytes
from willow_site.server.websocket_frames import whole_text
from willow_site.server.websocket_turns import MOST_IDLE_FRAMES, TURN_SECONDS, Pieces, Turn

NORMAL_CLOSURE = 1000
CLOSE_SECONDS = 1.0  # for the client to take what was sent before the connection ends
SMALL_BYTES = 64 * 1024  # of a message that may take any time to come in
MESSAGE_SECONDS = 20.0  # for a larger one, and more:
SLOWEST_BYTES = 64 * 1024  # a second, on average
PIECE_BYTES = 1024 * 1024  # in which a large message is kept
MOST_UNSENT_TO_PONG = 64 * 1024  # bytes; whoever does not read needs no answer to its pings
MOST_READS = 10_000  # of a broken connection: more than the system keeps for one


class BrokerWebSocketProtocol(CountedWebSocketProtocol):
    """Hands each message to the application, or only its size if it is larger than the limit.

    A message that is too large is thrown away while it streams in, but for its two ends; the application gets
    `{"type": "websocket.receive", "too_large": <ends>, "binary": <bool>}` and the connection goes on. To the
    application it is a SocketControl (delivery/gateway/socket_control.py).
    """

    _ends: FrameEnds | None = None  # of a message that is too large
    current_frame: Any = None  # Autobahn has it from the end of the handshake on
    _loose_bytes = 0  # of the frame that is coming in: in small pieces
    _fragments = 0  # of the message that is coming in
    _message_began = 0.0  # by the monotonic clock; later if we did not read for a while
    _reads = True
    _inbox_is_full = False
    _is_deaf = False  # what the client says is thrown away
    _left = b""  # of what has arrived: for the next turn
    _busy_seconds = 0.0  # with the parts of a large message, since it last paused
    _is_pausing = False
    _idle_frames = 0  # of this turn: pings, and fragments that neither begin nor end a message
    # Autobahn would format them all for its debug log, log or not. They are copied below.
    CONFIG_ATTRS: Sequence[str] = ()

    def connectionMade(self) -> None:
        for name in CountedWebSocketProtocol.CONFIG_ATTRS:
            setattr(self, name, getattr(self.factory, name))
        super().connectionMade()
        self.share = LoopShare()
        self._pieces = Pieces()
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._socket_number = self.transport.fileno()
        self.factory.broken_sockets.watch(self._socket_number, self._find_end)

    def connectionLost(self, reason: Failure) -> None:
        self.factory.broken_sockets.forget(self._socket_number)
        if hasattr(self, "application_queue"):
            self.application_queue.part_ended()
        self._left = b""
        self._outgoing.clear()
        forget_unsent(self.transport)
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
        if self._left:
            self._left += data
            return
        began = time.perf_counter()
        self._take(data)
        self._pause_in_large_message(time.perf_counter() - began)

    def _pause_in_large_message(self, busy_seconds: float) -> None:
        """It comes in hundreds of parts. Each is over soon, and the next one is there."""
        is_open = self.state == self.STATE_OPEN
        if not (is_open and self.inside_message and self.message_data_total_length >= PIECE_BYTES):
            return
        self._busy_seconds += busy_seconds
        if self._busy_seconds < TURN_SECONDS:
            return
        pause, self._busy_seconds = self.share.pause_after(self._busy_seconds), 0.0
        if pause:
            self._is_pausing = True
            self._read_or_pause()
            asyncio.get_running_loop().call_later(pause, self._end_pause)

    def _end_pause(self) -> None:
        self._is_pausing = False
        self._read_or_pause()

    def _take(self, data: bytes) -> None:
        """Go through what has arrived, for one turn at most; the rest waits for the next."""
        self.share.is_here()
        turn, begin = Turn(), 0
        self._idle_frames = 0
        while begin < len(data):
            if self.state == self.STATE_OPEN and not (self.data or self.inside_message or self.current_frame):
                begin = self._take_whole_texts(data, begin, turn)
            if begin >= len(data):
                break
            if turn.is_over or self._inbox_is_full:
                self._leave_for_next_turn(data[begin:])
                return
            end = begin + max(self._pieces.size, self._rest_of_frame())
            with self._pieces:
                self._dataReceived(data[begin:end])  # without the line for the debug log, as below
            begin = end

    def _leave_for_next_turn(self, data: bytes) -> None:
        self._left = data
        self._read_or_pause()
        pause = self.share.pause_after(TURN_SECONDS, for_nothing=self._idle_frames > MOST_IDLE_FRAMES)
        asyncio.get_running_loop().call_later(pause, self._take_left)

    def _take_left(self) -> None:
        if self._inbox_is_full:  # goes on when there is room
            return
        data, self._left = self._left, b""
        self._take(data)
        self._read_or_pause()

    def _rest_of_frame(self) -> int:
        """What is still to come of a frame that has begun, in bytes."""
        if self.current_frame is None:
            return 0
        rest: int = self.current_frame.length - self.current_frame_masker.pointer()
        return rest

    def _take_whole_texts(self, data: bytes, begin: int, turn: Turn) -> int:
        """Hand on the texts that stand whole from there on; returns where they end."""
        while not (self.failedByMe or self.muted or self._is_deaf or self._inbox_is_full):
            if (found := whole_text(data, begin)) is None:
                break
            text, begin = found
            self.last_ping = time.time()
            if self.autoPingTimeoutCall:
                self._cancelAutoPingTimeoutCall()
            self.application_queue.put_nowait({"type": "websocket.receive", "text": text})
            if turn.is_over:
                break
        return begin

    def onPing(self, payload: bytes) -> None:
        self._idle_frames += 1
        if self.unsent_bytes <= MOST_UNSENT_TO_PONG:
            super().onPing(payload)

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        """Collect what is sent in this turn of the loop, for one call of the socket.

        Autobahn composes a line for its debug log at each frame, log or not, and Twisted asks the system to tell when
        the socket can be written to, which it nearly always can: together that costs more than the sending.
        """
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._send_collected)
        self._outgoing.append(data)
        self._outgoing_bytes += len(data)

    def _send_collected(self) -> None:
        data, self._outgoing, self._outgoing_bytes = b"".join(self._outgoing), [], 0
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
            self._read_or_pause()  # now for the answer to the close
        else:
            super().handle_reply(message)

    @property
    def _socket(self) -> Any:
        return socket_of(self.transport)

    @property
    def has_gone(self) -> bool:
        return self._socket is None or not self._socket.connected

    @property
    def unsent_bytes(self) -> int:
        """What the client has not taken from the socket yet and the system would not take either."""
        return unsent_bytes(self.transport) + self._outgoing_bytes

    def _closeConnection(self, abort: bool = False) -> None:
        self._send_collected()
        super()._closeConnection(abort)
        if not abort:
            asyncio.get_running_loop().call_later(CLOSE_SECONDS, self.abort)

    def abort(self) -> None:
        """End the connection now, whatever has not been sent."""
        if not self.has_gone:
            self.transport.abortConnection()

    def stop_reading(self) -> None:
        """Take nothing more from the client, but its answer to a close."""
        self._is_deaf = True
        self._left = b""
        self._read_or_pause()

    def onMessageFrameBegin(self, length: int) -> None:
        if not self._fragments:
            self._message_began = time.monotonic()
        self._fragments += 1
        self._idle_frames += self._fragments > 1
        self._loose_bytes = 0
        super().onMessageFrameBegin(length)

    def onMessageFrameData(self, payload: bytes) -> None:
        if self._is_deaf:
            return
        # The total already counts the whole length that the frame has announced.
        if not self._is_too_large():
            self.frame_data.append(payload)
            self._loose_bytes += len(payload)
            if self._loose_bytes >= PIECE_BYTES:
                self._put_pieces_together()
            self.application_queue.part_grew(len(payload))
            return
        if self._ends is None:
            self._ends = FrameEnds(*self.message_data, *self.frame_data)
            self._throw_away_part()
        self._ends.add(payload)

    def _put_pieces_together(self) -> None:
        """The system gets back the room of a large piece at once; of small ones, only when all around them are gone."""
        small = len(self.frame_data)
        while small and len(self.frame_data[small - 1]) < PIECE_BYTES:
            small -= 1
        self.frame_data[small:] = [b"".join(self.frame_data[small:])]
        self._loose_bytes = 0

    def _throw_away_part(self) -> None:
        """Of the message that is coming in, nothing is kept but its ends."""
        self.message_data.clear()
        self.frame_data.clear()
        self.application_queue.part_ended()

    def give_up(self, reason: str) -> None:
        """Close the connection, and keep nothing of what is coming in."""
        if self.has_gone:
            return
        if self.inside_message:
            self._throw_away_part()
        self.stop_reading()
        self.sendClose(code=TOO_SLOW, reason=reason)
        self._read_or_pause()  # now for the answer to the close
        asyncio.get_running_loop().call_later(CLOSE_SECONDS, self.abort)

    def onMessageEnd(self) -> None:
        self.application_queue.part_ended()
        if not (self.failedByMe or self.muted or self._is_deaf):
            self.last_ping = time.time()
            self.application_queue.put_nowait(self._received())
        self.message_data: list[bytes] = []  # a large message must not stay until the next one
        self._ends = None
        self._fragments = 0

    def _received(self) -> dict[str, Any]:
        if self._is_too_large():
            return {"type": "websocket.receive", "too_large": self._ends, "binary": self.message_is_binary}
        if self.message_data_total_length > LARGE_BYTES:  # it is not copied here, while others wait
            return {"type": "websocket.receive", "pieces": self.message_data, "binary": self.message_is_binary}
        payload = b"".join(self.message_data)
        if self.message_is_binary:
            return {"type": "websocket.receive", "bytes": payload}
        # Text that is not UTF-8 stays recognisable: its command is refused, and the connection stays open.
        return {"type": "websocket.receive", "text": payload.decode(errors="surrogateescape")}

    def _is_too_large(self) -> bool:
        return self.message_data_total_length > settings.WILLOW.max_frame_bytes or self._fragments > MOST_FRAGMENTS

    def inbox_is_full(self) -> None:
        self._inbox_is_full = True
        self._read_or_pause()
        # Nobody would read the answer to a ping, so none may be waited for.
        if self.autoPingTimeoutCall:
            self._cancelAutoPingTimeoutCall()

    def inbox_is_roomy(self) -> None:
        self._inbox_is_full = False
        self.last_ping = time.time()
        self._message_began = time.monotonic()
        if self._left:
            asyncio.get_running_loop().call_later(self.share.pause_after(TURN_SECONDS), self._take_left)
        self._read_or_pause()

    def _read_or_pause(self) -> None:
        is_closed = self._is_deaf and self.state == self.STATE_OPEN  # and the close is still to be sent
        reads = not (self._inbox_is_full or self._left or self._is_pausing or is_closed)
        if reads == self._reads or not self._socket.connected:
            return
        self._reads = reads
        if reads:
            self.transport.resumeProducing()
        else:
            self.transport.pauseProducing()

    def check_timeouts(self) -> None:
        if self._inbox_is_full:
            return
        super().check_timeouts()
        if self._comes_too_slowly():
            self.application_queue.give_up("Your message came too slowly.")

    def _comes_too_slowly(self) -> bool:
        """A large message that never becomes whole would be kept for good."""
        size = self.application_queue.part_bytes if self._fragments and not self._is_deaf else 0
        seconds = time.monotonic() - self._message_began
        return size > SMALL_BYTES and seconds > MESSAGE_SECONDS + size / SLOWEST_BYTES
