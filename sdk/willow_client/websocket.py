"""A WebSocket as an asyncio protocol: texts go in and out by plain calls, without a task for each."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import WebSocketURI, parse_uri

OPEN_SECONDS = 10
CLOSE_SECONDS = 5
# A peer that answers neither with frames nor with a pong for this long is gone.
PING_SECONDS = 20

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
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol = ClientProtocol(uri, max_size=None)
        self._headers = headers
        self._received = received
        self._resumed = resumed
        self._fragments: list[bytes] = []
        self._heard_since_ping = True
        self._watch: asyncio.TimerHandle | None = None
        self._congested = False
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self.closed: asyncio.Future[int | None] = self._loop.create_future()  # with the close code

    @property
    def takes_texts(self) -> bool:
        """Whether a text can be sent now; if not, `resumed` is called when it can."""
        return not self._congested and self._protocol.state is State.OPEN

    def send(self, text: bytes) -> None:
        self._protocol.send_text(text)
        self._write()

    async def close(self) -> None:
        """Say goodbye and wait for the other side, but not for long."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(1000)
            self._write()
        await asyncio.wait([self.closed], timeout=CLOSE_SECONDS)
        self.abort()

    def abort(self) -> None:
        self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        request = self._protocol.connect()
        request.headers.update(self._headers)
        self._protocol.send_request(request)
        self._write()
        self._watch = self._loop.call_later(PING_SECONDS, self._look_for_life)

    def data_received(self, data: bytes) -> None:
        self._heard_since_ping = True
        self._protocol.receive_data(data)
        self._write()
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._take(event)
            else:
                self._settle_opening()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._write()

    def connection_lost(self, error: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._protocol.receive_eof()  # now it knows the close code
        self._settle_opening()
        if not self.closed.done():
            self.closed.set_result(self._protocol.close_code)

    def pause_writing(self) -> None:
        self._congested = True

    def resume_writing(self) -> None:
        self._congested = False
        self._resumed()

    # what goes on inside

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.TEXT and frame.fin:
            self._received(bytes(frame.data))
        elif frame.opcode in (Opcode.TEXT, Opcode.CONT):
            self._fragments.append(bytes(frame.data))
            if frame.fin:
                text, self._fragments = b"".join(self._fragments), []
                self._received(text)

    def _settle_opening(self) -> None:
        if self.opened.done():
            return
        if self._protocol.handshake_exc is not None:
            self.opened.set_exception(self._protocol.handshake_exc)
        elif self._transport.is_closing():
            self.opened.set_exception(InvalidHandshake("The connection was closed during the handshake."))
        else:
            self.opened.set_result(None)

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:  # the protocol's sign that nothing more will be sent
                self._transport.close()

    def _look_for_life(self) -> None:
        if not self._heard_since_ping:
            self._transport.abort()
            return
        self._heard_since_ping = False
        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
            self._write()
        self._watch = self._loop.call_later(PING_SECONDS, self._look_for_life)


async def open_websocket(
    url: str, headers: Mapping[str, str], *, received: Received, resumed: Callable[[], None]
) -> WebSocket:
    uri = parse_uri(url)
    async with asyncio.timeout(OPEN_SECONDS):
        _, websocket = await asyncio.get_running_loop().create_connection(
            lambda: WebSocket(uri, headers, received=received, resumed=resumed),
            uri.host,
            uri.port,
            ssl=True if uri.secure else None,
        )
        try:
            await websocket.opened
        except BaseException:
            websocket.abort()
            raise
    return websocket
