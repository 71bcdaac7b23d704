"""The connection of a client to its broker.

Commands go out in one text per turn of the event loop, answers find their commands by label, and a lost
socket is replaced by a new one that takes up the same identity.
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from itertools import count, groupby
from operator import attrgetter
from typing import Any, Protocol
from urllib.parse import urlencode

from websockets.exceptions import InvalidHandshake

from willow_client.calls import Call, error_of
from willow_client.errors import DisconnectedError, WillowError
from willow_client.frames import AnyFrame, Command, Delivery, Error, Fail, Hello, decode, encode
from willow_client.websocket import WebSocket, open_websocket

logger = logging.getLogger("willow_client")

MOST_COMMANDS_PER_TEXT = 1000
MOST_BYTES_PER_TEXT = 1024 * 1024  # a single command may be larger
# A caller that waits for no answers is made to wait when so much has not been sent yet.
FULL_BYTES = 4 * 1024 * 1024
FIRST_PAUSE = 0.05  # seconds between two attempts to reconnect, doubled each time
LONGEST_PAUSE = 5.0  # seconds
NOT_LET_IN = 4401  # the close code of a broker that wants another key

_label_of = attrgetter("label")


class Listener(Protocol):
    """A part of the client whose words count for one socket only: it starts anew on each."""

    def connected(self, node: str) -> None:
        """The broker of that name said hello."""

    def unasked(self, frame: AnyFrame) -> None:
        """A frame that answers no command."""

    def lost(self) -> None: ...

    def next_url(self) -> str:
        """Where to try after a failure."""

    def ended(self, reason: WillowError) -> None: ...


class Connection:
    def __init__(
        self, url: str, *, token: str | None, hold: float | None, batch: bool, listener: Listener | None = None
    ) -> None:
        self.batch = batch
        self.url = url
        self._listener = listener
        self._headers = {"Batch": "true"} if batch else {}
        if token is not None:
            self._headers["Authorization"] = f"Token {token}"
        self._hold = hold
        self._id: str | None = None  # the identity that the broker gave us
        self._labels = count(1)
        self._calls: dict[int, Call] = {}  # under way, by label, in the order in which they were made
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._flush_is_due = False
        self._room = asyncio.Event()
        self._room.set()
        self._socket: WebSocket | None = None
        self._hello: asyncio.Future[Hello] | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._ended: WillowError | None = None

    # opening and closing

    async def open(self) -> None:
        """Connect for the first time; raises if that fails."""
        self._loop = asyncio.get_running_loop()
        await self._connect()

    async def close(self) -> None:
        self._end(DisconnectedError("This client was closed."))
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        if self._socket is not None:
            await self._socket.close()

    def move(self, url: str) -> None:
        """Go on at another broker, as a client that holds nothing."""
        self.url, self._id = url, None
        self._flush()
        if self._socket is not None:
            self._closing = self._loop.create_task(self._socket.close())

    def _end(self, reason: WillowError) -> None:
        """From here on nothing is sent and every command fails."""
        self._flush()
        self._ended = reason
        self._room.set()
        for call in self._calls.values():
            call.fail(reason)
        self._calls.clear()

    # commands

    def new_label(self) -> int:
        return next(self._labels)

    def ask(self, command: Command, *, repeatable: bool) -> asyncio.Future[Any]:
        """Send a command that is answered by one frame."""
        command.label = self.new_label()
        call = Call(command, repeatable=repeatable)
        self.start(command.label, call)
        return call.answer

    def start(self, label: int, call: Call) -> None:
        if self._ended is not None:
            raise self._ended
        self._calls[label] = call
        self._send_soon(call.encoded)

    def stop(self, label: int) -> None:
        """Wait no longer for frames with this label."""
        self._calls.pop(label, None)

    async def tell(self, command: Command) -> None:
        """Send a command without waiting for its answer; what the broker has against it is logged."""
        if self._ended is not None:
            raise self._ended
        self._send_soon(encode(command))
        await self._room.wait()

    def say(self, command: Command) -> None:
        """Send a command that has a meaning on this socket only; while there is none, it is dropped."""
        if self._socket is not None and self._ended is None:
            self._send_soon(encode(command))

    def _send_soon(self, encoded: bytes) -> None:
        self._unsent.append(encoded)
        self._unsent_bytes += len(encoded)
        if self._unsent_bytes >= FULL_BYTES:
            self._room.clear()
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        while self._unsent and self._hello is None and self._socket is not None and self._socket.takes_texts:
            self._socket.send(self._next_text())
        if self._unsent_bytes < FULL_BYTES:
            self._room.set()

    def _next_text(self) -> bytes:
        """Take as many commands as go into one text."""
        size = commands = 0
        most = MOST_COMMANDS_PER_TEXT if self.batch else 1
        for encoded in self._unsent[:most]:
            if commands and size + len(encoded) > MOST_BYTES_PER_TEXT:
                break
            size += len(encoded)
            commands += 1
        taken, self._unsent = self._unsent[:commands], self._unsent[commands:]
        self._unsent_bytes -= size
        return taken[0] if commands == 1 else b"[" + b",".join(taken) + b"]"

    # answers

    def _received(self, text: bytes) -> None:
        for label, group in groupby(decode(text), _label_of):
            frames = list(group)
            call = self._calls.get(label)
            if call is None or call.is_abandoned:
                self._calls.pop(label, None)
                self._nobody_waits_for(frames)
            elif call.take(frames):
                del self._calls[label]

    def _nobody_waits_for(self, frames: list[AnyFrame]) -> None:
        for frame in frames:
            if isinstance(frame, Hello):
                self._welcome(frame)
            elif isinstance(frame, Delivery):
                if not frame.finished:
                    self._give_back(frame)
            elif self._listener is not None and self._socket is not None:
                self._listener.unasked(frame)
            elif isinstance(frame, Error):
                self._refused(frame)

    def _welcome(self, hello: Hello) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_result(hello)

    def _refused(self, frame: Error) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(error_of(frame))
        else:
            logger.warning("The broker refused a command: %s", error_of(frame))

    def _give_back(self, delivery: Delivery) -> None:
        """The fetch was cancelled before its message came."""
        self._send_soon(
            encode(
                Fail(
                    queue=delivery.queue,
                    shard=delivery.shard,
                    sequence=delivery.sequence,
                    index=delivery.index,
                    error="the fetch was cancelled",
                    delay=0.0,
                )
            )
        )

    # the socket

    async def _connect(self) -> None:
        """Open a socket and wait for the broker's hello on it."""
        hello = self._hello = self._loop.create_future()
        socket = await open_websocket(
            self._url_with_identity(), self._headers, received=self._received, resumed=self._flush
        )
        socket.closed.add_done_callback(lambda closed: self._lost(socket, closed.result()))
        try:
            said = await hello
        except BaseException:
            socket.abort()
            raise
        self._id = said.id
        self._hello = None
        self._socket = socket
        self._flush()
        if self._listener is not None:
            self._listener.connected(said.node)

    def _url_with_identity(self) -> str:
        wishes = {"id": self._id, "hold": self._hold}
        query = urlencode({name: wish for name, wish in wishes.items() if wish is not None})
        return f"{self.url}{'&' if '?' in self.url else '?'}{query}" if query else self.url

    def _lost(self, socket: WebSocket, close_code: int | None) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(_why_closed(close_code))
        if socket is self._socket and self._ended is None:
            self._socket = None
            if self._listener is not None:
                self._unsent.clear()
                self._listener.lost()
            self._keep_what_can_be_repeated()
            self._reconnecting = self._loop.create_task(self._reconnect())

    def _keep_what_can_be_repeated(self) -> None:
        unsent = set(self._unsent)
        lost = DisconnectedError("The connection was lost before the answer came.")
        again = []
        for label, call in list(self._calls.items()):
            if call.encoded in unsent:
                continue
            if call.repeatable and not call.is_abandoned:
                again.append(call.encoded)
            else:
                del self._calls[label]
                call.fail(lost)
        self._unsent = again + self._unsent
        self._unsent_bytes = sum(map(len, self._unsent))

    async def _reconnect(self) -> None:
        for pause in _pauses():
            await asyncio.sleep(pause)
            try:
                await self._connect()
            except (OSError, TimeoutError, InvalidHandshake, WillowError) as error:
                if isinstance(error, KeyRefusedError):
                    self._give_up(error)
                    return
                logger.info("Not connected to the broker yet: %s", error)
                if self._listener is not None:
                    self.url = self._listener.next_url()
            else:
                return

    def _give_up(self, reason: WillowError) -> None:
        self._end(reason)
        if self._listener is not None:
            self._listener.ended(reason)


class KeyRefusedError(WillowError):
    """The broker wants another key: there is no point in trying again."""


def _why_closed(close_code: int | None) -> WillowError:
    if close_code == NOT_LET_IN:
        return KeyRefusedError("PermissionDenied", "token", "The broker does not accept this key.")
    return DisconnectedError(f"The broker closed the connection before its hello (close code {close_code}).")


def _pauses() -> Iterator[float]:
    """Seconds to wait before each attempt, spread so that not all clients of a broker come back at once."""
    longest = FIRST_PAUSE
    while True:
        yield random.uniform(0, longest)
        longest = min(2 * longest, LONGEST_PAUSE)
