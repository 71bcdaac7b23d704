"""A WebSocket as an asyncio protocol: texts go in and out by plain calls, without a task for each."""

import asyncio
import struct
from collections.abc import Callable, Mapping
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake
from websockets.uri import WebSocketURI

from willow_client.framing import CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, FrameReader, FramingError, frame

CLOSE_SECONDS = 5
NORMAL_CLOSURE, PROTOCOL_ERROR = 1000, 1002
END_OF_HEAD = b"\r\n\r\n"

Received = Callable[[bytes], None]


class WebSocket(asyncio.Protocol):
    """`received` gets each text; `resumed` is called when what was written has left after a congestion."""

    def __init__(
        self,
        uri: WebSocketURI,
        headers: Mapping[str, str],
        *,
        received: Received,
        resumed: Callable[[], None],
        ping_interval: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._handshake = ClientProtocol(uri)
        self._headers = headers
        self._head = b""  # of the answer to the handshake, as far as it came
        self._received = received
        self._resumed = resumed
        self._reader = FrameReader()
        self._fragments: list[bytes] = []
        self._ping_interval = ping_interval
        self._pinged_at = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._congested = False
        self._is_open = False
        self._close_code: int | None = None
        self.heard_at = self._loop.time()  # when the last bytes came
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self.closed: asyncio.Future[int | None] = self._loop.create_future()  # with the close code

    @property
    def takes_texts(self) -> bool:
        """Whether a text can be sent now; if not, `resumed` is called when it can."""
        return self._is_open and not self._congested

    def send(self, text: bytes) -> None:
        self._transport.write(frame(TEXT, text))

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send a close frame and wait for the other side, but not for long."""
        self._send_close(NORMAL_CLOSURE)
        await asyncio.wait([self.closed], timeout=seconds)
        self.abort()

    def abort(self) -> None:
        self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        request = self._handshake.connect()
        request.headers.update(self._headers)
        self._handshake.send_request(request)
        for data in self._handshake.data_to_send():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self.heard_at = self._loop.time()
        if not self.opened.done():
            data = self._shake_hands(data)
        if not self._is_open or not data:
            return
        try:
            frames = self._reader.feed(data)
        except FramingError:
            self._send_close(PROTOCOL_ERROR)
            self._transport.close()
            return
        for first, payload in frames:
            if first == FIN | TEXT:
                self._received(payload)
            else:
                self._take(first, payload)

    def eof_received(self) -> None:
        return None  # which closes the transport

    def connection_lost(self, error: Exception | None) -> None:
        self._is_open = False
        if self._watch is not None:
            self._watch.cancel()
        if not self.opened.done():
            self.opened.set_exception(InvalidHandshake("the connection was closed during the handshake"))
        if not self.closed.done():
            self.closed.set_result(self._close_code)

    def pause_writing(self) -> None:
        self._congested = True

    def resume_writing(self) -> None:
        self._congested = False
        self._resumed()

    # what goes on inside

    def _shake_hands(self, data: bytes) -> bytes:
        """Returns what came behind the answer."""
        self._head += data
        head, end, behind = self._head.partition(END_OF_HEAD)
        if not end and self._head[:5] == b"HTTP/"[: len(self._head)]:
            return b""
        self._handshake.receive_data(head + end)
        if not end:
            self._handshake.receive_eof()
        if self._handshake.handshake_exc is not None:
            self.opened.set_exception(self._handshake.handshake_exc)
        elif self._handshake.events_received():
            self._is_open = True
            self._watch = self._loop.call_later(self._ping_interval, self._look_for_life)
            self.opened.set_result(None)
        else:  # an answer with a body, which is no upgrade
            self._handshake.receive_eof()
            self.opened.set_exception(self._handshake.handshake_exc or InvalidHandshake("it is no WebSocket"))
        return behind

    def _take(self, first: int, payload: bytes) -> None:
        kind = first & ~FIN
        if kind in (TEXT, CONTINUATION):
            self._fragments.append(payload)
            if first & FIN:
                text, self._fragments = b"".join(self._fragments), []
                self._received(text)
        elif kind == PING:
            self._transport.write(frame(PONG, payload))
        elif kind == CLOSE:
            self._close_code = struct.unpack_from("!H", payload)[0] if len(payload) >= 2 else None
            self._send_close(NORMAL_CLOSURE)
            self._transport.close()

    def _send_close(self, code: int) -> None:
        if self._is_open:
            self._is_open = False
            self._transport.write(frame(CLOSE, struct.pack("!H", code)))

    def _look_for_life(self) -> None:
        """A peer that answers neither with frames nor with a pong for an interval is gone."""
        if self.heard_at < self._pinged_at:
            self._transport.abort()
            return
        self._pinged_at = self._loop.time()
        if self._is_open:
            self._transport.write(frame(PING, b""))
        self._watch = self._loop.call_later(self._ping_interval, self._look_for_life)
