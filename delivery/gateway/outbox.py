"""Frames on their way to one client, which may read them slowly or not at all."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from django.conf import settings

from delivery.gateway.handshake import Encoder
from delivery.gateway.socket_control import SocketControl
from delivery.protocol.close_codes import TOO_SLOW
from delivery.protocol.frames import Frame
from delivery.protocol.sizes import bytes_of_frame
from delivery.sessions.unread_answers import UnreadAnswers

CLOSE_SECONDS = 1.0  # for what was sent before a close, and for the client's answer to it
TURN_BYTES = 256 * 1024  # that one client is sent before it is the others' turn
TURN_SECONDS = 0.0005  # the same for many small frames
MOST_TIMES_CROWDED = 8  # so much more than makes a connection crowded is too much at once

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Outbox:
    """Collects the frames of one pass of the event loop and sends them together.

    A client that does not read makes it *crowded*: its commands are not read, and it is given no messages. If it
    reads nothing for `WILLOW_UNREAD_SECONDS`, it is given up.
    """

    def __init__(
        self, send: Send, encoder: Encoder, *, batch: bool, socket: SocketControl, unread: UnreadAnswers
    ) -> None:
        self._send = send
        self._encoder = encoder
        self._batch = batch
        self._socket = socket
        self._unread = unread
        self._frames: deque[tuple[Frame, int]] = deque()  # each with its bytes
        self._something = asyncio.Event()
        self._closing: dict[str, Any] | None = None
        self._reading: asyncio.Timeout | None = None
        self._ended = False
        self._roomy = asyncio.Event()
        self._roomy.set()
        self._crowded_bytes = settings.WILLOW.unread_bytes
        self._frames_sent = 0
        self._look: asyncio.TimerHandle | None = None  # whether a crowded client reads
        self._frame_bytes = 0
        self._longer_bytes = 0  # by which frames that are being sent are longer than they were as frames
        self._unsent_bytes = 0  # in the socket, when it was last looked at
        self.when_roomy: Callable[[], None] = _nothing
        unread.came(self)

    @property
    def size(self) -> int:
        return self._frame_bytes + self._longer_bytes + self._unsent_bytes

    @property
    def is_crowded(self) -> bool:
        return not self._roomy.is_set()

    def put(self, frame: Frame) -> None:
        if self._closing is not None:
            return
        size = bytes_of_frame(frame)
        self._frames.append((frame, size))
        self._frame_bytes += size
        self._something.set()
        self._unread.grew(size)
        if self._frame_bytes > self._crowded_bytes:
            self._became_crowded()

    # how it is sent

    async def run(self) -> None:
        while self._closing is None:
            await self._something.wait()
            await self.flush()
        await self._send(self._closing)

    async def flush(self) -> None:
        """Whoever is sent very much leaves the loop to others now and then: sending does not wait by itself."""
        self._something.clear()
        since_others, busy_seconds = 0, 0.0
        while self._frames:
            began = perf_counter()
            frames, size = self._next_frames()
            count, encoded = len(frames), deque(self._encoded(frames))
            frames.clear()
            self._is_longer_by(sum(map(len, encoded)) - size)
            busy_seconds, began = busy_seconds + perf_counter() - began, perf_counter()
            while encoded:
                await self._send({"type": "websocket.send", self._encoder.part: encoded.popleft()})
            busy_seconds += min(perf_counter() - began, TURN_SECONDS)  # a longer one waits for the client to read
            self._was_sent(count, size)
            since_others += size
            if self._frames and (since_others >= TURN_BYTES or busy_seconds >= TURN_SECONDS):
                self._socket.share.was_busy(busy_seconds)
                await asyncio.sleep(0)
                since_others, busy_seconds = 0, 0.0
        self._socket.share.was_busy(busy_seconds)

    def _next_frames(self) -> tuple[list[Frame], int]:
        """Those that may go together, and their bytes."""
        frame, size = self._frames.popleft()
        frames = [frame]
        while self._batch and self._frames and size < TURN_BYTES:
            frame, more = self._frames.popleft()
            frames.append(frame)
            size += more
        return frames, size

    def _encoded(self, frames: list[Frame]) -> Sequence[str | bytes]:
        return self._encoder.encode_batch(frames) if len(frames) > 1 else [self._encoder.encode(frames[0])]

    def _is_longer_by(self, size: int) -> None:
        """A body that is not text is a list of numbers in JSON."""
        if size > 0 and not self._ended:
            self._longer_bytes = size
            self._unread.grew(size)

    def _was_sent(self, count: int, size: int) -> None:
        if self._ended:
            return
        self._frames_sent += count
        before, self._longer_bytes, self._unsent_bytes = self.size, 0, self._socket.unsent_bytes
        self._frame_bytes -= size
        self._unread.grew(self.size - before)
        if self.is_crowded and self._frame_bytes <= self._crowded_bytes // 2:
            self._became_roomy()
            self.when_roomy()

    # a client that does not read

    async def wait_until_roomy(self) -> None:
        await self._roomy.wait()

    def look_again(self) -> None:
        unsent = self._socket.unsent_bytes
        self._unread.bytes += unsent - self._unsent_bytes
        self._unsent_bytes = unsent

    def _became_crowded(self) -> None:
        if self._frame_bytes > self._crowded_bytes * MOST_TIMES_CROWDED:
            self.give_up()
        elif not self.is_crowded:
            self._roomy.clear()
            self._unread.crowded.add(self)
            self._look_later()

    def _became_roomy(self) -> None:
        self._roomy.set()
        self._unread.crowded.discard(self)
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _look_later(self) -> None:
        progress = self._progress()
        seconds = settings.WILLOW.unread_seconds
        self._look = asyncio.get_running_loop().call_later(seconds, lambda: self._look_again(progress))

    def _look_again(self, before: tuple[int, int]) -> None:
        if self._progress() == before:
            self.give_up()
        else:
            self._look_later()

    def _progress(self) -> tuple[int, int]:
        return self._frames_sent, self._socket.unsent_bytes

    def give_up(self) -> None:
        """Close the socket, and keep nothing of what was to be sent."""
        if self._closing is None:
            self._unread.given_up += 1
            self.close(TOO_SLOW, "You read too slowly.")
        self.end()

    # how it ends

    def close(self, code: int, reason: str) -> None:
        """Read nothing more; close the socket when everything that was put before has been sent, or after a second."""
        if self._closing is not None:
            return
        self._closing = {"type": "websocket.close", "code": code, "reason": reason}
        self._something.set()
        self._socket.stop_reading()
        loop = asyncio.get_running_loop()
        loop.call_later(CLOSE_SECONDS, self._socket.abort)
        if self._reading is not None:
            self._reading.reschedule(loop.time())

    @asynccontextmanager
    async def while_open(self) -> AsyncIterator[None]:
        """What is done inside is broken off when the socket is closed from this side."""
        try:
            async with asyncio.timeout(None if self._closing is None else 0) as self._reading:
                yield
        except TimeoutError:
            if self._closing is None:
                raise
        finally:
            self._reading = None

    async def finish(self, writer: "asyncio.Task[None]") -> None:
        """The connection is over, or about to be: let the close go out."""
        if self._closing is not None:
            await asyncio.wait({writer}, timeout=CLOSE_SECONDS)
        writer.cancel()

    def end(self) -> None:
        """Keep nothing."""
        if self._ended:
            return
        self._ended = True
        self._closing = self._closing or {"type": "websocket.close"}
        self._frames.clear()
        self._unread.bytes -= self.size
        self._frame_bytes = self._longer_bytes = self._unsent_bytes = 0
        self._unread.went(self)
        self.when_roomy = _nothing
        self._became_roomy()


def _nothing() -> None: ...
