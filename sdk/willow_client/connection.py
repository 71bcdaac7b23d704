"""The connection of a client to its broker.

Commands go out in one text per turn of the event loop, answers find their commands by label, and a lost
socket is replaced by a new one that takes up the same identity.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Protocol
from urllib.parse import urlencode

from willow_client.brokers import Brokers
from willow_client.calls import AwaitedCall, Call, error_of
from willow_client.claims import Claims
from willow_client.commands import Command, encode
from willow_client.errors import ConnectionFailed, ConnectionLost, Timeout, Unauthorized, WillowError, without_query
from willow_client.frames import AnyFrame, Delivery, Error, Hello, decode
from willow_client.opening import OPEN_SECONDS, open_websocket
from willow_client.options import Options
from willow_client.outbox import Outbox
from willow_client.timetable import Timetable
from willow_client.websocket import WebSocket

logger = logging.getLogger("willow_client")

FIRST_PAUSE = 0.05  # seconds between two attempts to reconnect, doubled each time
LONGEST_PAUSE = 5.0  # seconds
NOT_LET_IN = 4401  # the close code of a broker that wants another key
# Labels of subscriptions, which the broker keeps for a registered client, begin anywhere above this: those of an
# earlier life of the program are no others of this one.
FIRST_SUBSCRIPTION_LABEL = 2**48


class Listener(Protocol):
    """A part of the client whose words count for one socket only: it starts anew on each."""

    def connected(self, node: str) -> None:
        """The broker of that name said hello."""

    def unasked(self, frame: AnyFrame) -> None:
        """A frame that answers no command."""

    def lost(self) -> None: ...

    def ended(self, reason: WillowError) -> None: ...


class Closable(Protocol):
    async def close(self) -> None: ...


class Connection:
    """Belongs to the event loop that opens it."""

    def __init__(self, brokers: Brokers, options: Options, listener: Listener | None = None) -> None:
        self.brokers = brokers
        self.options = options
        self.strays: list[Delivery] = []  # for subscriptions of an earlier life, which nobody has taken over yet
        self.open_subscriptions: set[Closable] = set()
        self.background: set[asyncio.Task[None]] = set()  # subscriptions that are being closed
        self._listener = listener
        self._id: str | None = None  # the identity that the broker gave us
        self._labels = count(1)
        self._own_labels = range(0)  # of subscriptions
        self._calls: dict[int | None, Call] = {}  # under way, by label, in the order in which they were made
        self._outbox = Outbox(batch=options.batch)
        self._flush_is_due = False
        self._socket: WebSocket | None = None
        self._hello: asyncio.Future[Hello] | None = None
        self._after_hello: list[AnyFrame] = []  # what came with it, before this client could answer
        self._lost_at = 0.0  # on the loop's clock
        self.claims_lasted = True  # whether the broker kept them over the last loss of the connection
        self._reconnecting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._ended: WillowError | None = ConnectionLost("This client is not open: use `async with`, or await open().")

    # opening and closing

    @property
    def is_open(self) -> bool:
        return self._ended is None

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    async def open(self) -> None:
        """Connect for the first time, to any of the brokers; raises if that fails."""
        self.loop = asyncio.get_running_loop()
        self.claims = Claims(self, self.loop)
        self._deadlines: Timetable[int] = Timetable(self.loop, self._timed_out)
        self._ended = None
        for left in reversed(range(len(self.brokers.choice))):
            try:
                await self._connect()
                return
            except ConnectionFailed as error:
                self.brokers.failed()
                if not left:
                    self._end(error)
                    raise
            except BaseException as error:
                self._end(error if isinstance(error, WillowError) else ConnectionLost("It was never opened."))
                raise

    async def close(self) -> None:
        self._end(ConnectionLost("This client was closed."))
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()

    def move(self, url: str) -> None:
        """Go on at another broker, as a client that holds nothing."""
        self.brokers.current, self._id = url, None
        self._flush()
        if self._socket is not None:
            self._closing = self.loop.create_task(self._socket.close())

    def _end(self, reason: WillowError) -> None:
        """From here on nothing is sent and every command fails."""
        if self._ended is not None:
            return
        self._flush()
        self._ended = reason
        self._outbox.let_everybody_go()
        self.claims.clear()
        self._deadlines.clear()
        for call in list(self._calls.values()):
            call.fail(reason)
        self._calls.clear()

    # commands

    def new_label(self) -> int:
        return next(self._labels)

    def new_subscription_label(self) -> int:
        first = self._own_labels.start or FIRST_SUBSCRIPTION_LABEL + secrets.randbits(47)
        self._own_labels = range(first, max(first, self._own_labels.stop) + 1)
        return self._own_labels[-1]

    def ask(self, command: Command, *, repeatable: bool, timeout: float | None = None) -> asyncio.Future[Any]:
        """Send a command that is answered by one frame."""
        command.label = next(self._labels)
        call = AwaitedCall(command, repeatable=repeatable)
        self.start(call, timeout)
        return call.answer

    def start(self, call: Call, timeout: float | None = None) -> None:
        """`timeout`: seconds after which the call fails."""
        if self._ended is not None:
            raise self._ended
        self._calls[call.label] = call
        if timeout is not None:
            call.seconds = timeout
            self._deadlines.put(timeout, call.label)
        self._send_soon(call.encoded)

    def stop(self, label: int) -> None:
        """Wait no longer for frames with this label."""
        call = self._calls.get(label)
        if call is not None:
            self._forget(call)

    async def tell(self, command: Command) -> None:
        """Send a command without waiting for its answer; what the broker has against it is logged."""
        self.say_later(command)
        await self._outbox.room()
        if self._ended is not None:
            raise self._ended

    def say_later(self, command: Command) -> None:
        """The same, whether or not there is room; for what is small and seldom."""
        if self._ended is not None:
            raise self._ended
        self._send_soon(encode(command))

    def say(self, command: Command) -> None:
        """Send a command that has a meaning on this socket only; while there is none, it is dropped."""
        if self._socket is not None and self._ended is None:
            self._send_soon(encode(command))

    def release(self, deliveries: Iterable[Delivery]) -> None:
        """Give messages back without waiting for the answer. Without a connection there is no need to."""
        for command in self.claims.release_commands(deliveries):
            self.say(command)

    def _send_soon(self, encoded: bytes) -> None:
        self._outbox.put(encoded)
        if not self._flush_is_due:
            self._flush_is_due = True
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        socket = self._socket
        while self._outbox and socket is not None and socket.takes_texts:
            socket.send(self._outbox.next_text())

    def _forget(self, call: Call) -> None:
        del self._calls[call.label]
        if call.seconds is not None:
            self._deadlines.take_out(call.seconds, call.label)

    def _timed_out(self, label: int) -> None:
        call = self._calls.get(label)
        if call is None or call.waits_for_notices:
            return
        if self._outbox.withdraw(call.encoded):
            why = "it was not sent, because the broker cannot be reached"
        else:
            why = "the broker did not answer; it may have been carried out or not"
        url = without_query(self.brokers.current)
        call.fail(Timeout(f"Within {call.seconds:g} seconds {why}. Broker: {url}. Give more time with timeout=…."))
        if not call.outlives_timeout:
            self._forget(call)

    # answers

    def _received(self, text: bytes) -> None:
        for frame in decode(text):
            call = self._calls.get(frame.label)
            if call is None:
                self._unasked(frame)
            elif call.take(frame) and call.label in self._calls:
                self._forget(call)

    def _unasked(self, frame: AnyFrame) -> None:
        if isinstance(frame, Hello):
            if self._hello is not None and not self._hello.done():
                self._hello.set_result(frame)
        elif self._hello is not None and self._hello.done():
            self._after_hello.append(frame)
        elif isinstance(frame, Delivery):
            self._take_stray(frame)
        elif frame.label is not None:
            pass  # the answer to a call that has been given up
        elif self._listener is not None and self._socket is not None:
            self._listener.unasked(frame)
        elif isinstance(frame, Error):
            self._refused(frame)

    def _refused(self, frame: Error) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(error_of(frame))
        else:
            logger.warning("The broker refused a command: %s", error_of(frame))

    def _take_stray(self, delivery: Delivery) -> None:
        """A message that nobody asked for, or nobody any more."""
        if delivery.finished or self.claims.holds_attempt(delivery):
            return
        if delivery.label is None or self._is_own_label(delivery.label):
            self.release([delivery])
        else:
            self.strays.append(delivery)

    def _is_own_label(self, label: int) -> bool:
        return label < FIRST_SUBSCRIPTION_LABEL or label in self._own_labels

    # the socket

    async def _connect(self) -> None:
        """Open a socket and wait for the broker's hello on it."""
        url = self.brokers.current
        hello = self._hello = self.loop.create_future()
        self._after_hello = []
        try:
            socket = await open_websocket(
                url,
                urlencode({"hold": self.options.hold, **({"id": self._id, "resend": "true"} if self._id else {})}),
                self.options.headers(),
                received=self._received,
                resumed=self._flush,
                ping_interval=self.options.ping_interval,
                ssl=self.options.ssl,
            )
            socket.closed.add_done_callback(lambda closed: self._lost(socket, url, closed.result()))
            said = await self._greeting(socket, url, hello)
        finally:
            self._hello = None
        self._begin(socket, said)

    async def _greeting(self, socket: WebSocket, url: str, hello: asyncio.Future[Hello]) -> Hello:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                return await hello
        except TimeoutError:
            socket.abort()
            raise ConnectionFailed(url, "The broker at {url} does not say hello.", "Is it a Willow broker?") from None
        except BaseException:
            socket.abort()
            raise

    def _begin(self, socket: WebSocket, hello: Hello) -> None:
        before, self._id = self._id, hello.id
        self._socket = socket
        if before is not None:
            self._resume(was_known=before == hello.id)
        for frame in self._after_hello:
            self._unasked(frame)
        self._flush()
        if self._listener is not None:
            self._listener.connected(hello.node)

    def _resume(self, *, was_known: bool) -> None:
        """Claims have lasted if the broker knew us in time; each is asked after, to be sure."""
        away = self.loop.time() - self._lost_at
        self.claims_lasted = was_known and away < self.options.hold
        if not was_known:
            lost = ConnectionLost("The connection was lost, and what this client was to be told with it.")
            for call in [call for call in self._calls.values() if not call.needs_repeating]:
                if call.encoded not in self._outbox.unsent():
                    self._forget(call)
                    call.fail(lost)
        self.claims.confirm_all()

    def _lost(self, socket: WebSocket, url: str, close_code: int | None) -> None:
        if self._hello is not None and not self._hello.done():
            self._hello.set_exception(_why_closed(url, close_code))
        if socket is self._socket and self._ended is None:
            self._socket = None
            self._lost_at = self.loop.time()
            if self._listener is not None:
                self._outbox.clear()
                self._listener.lost()
            self._keep_what_can_be_repeated()
            self._reconnecting = self.loop.create_task(self._reconnect())

    def _keep_what_can_be_repeated(self) -> None:
        unsent = self._outbox.unsent()
        again = []
        for call in list(self._calls.values()):
            if call.encoded in unsent:
                continue
            if call.needs_repeating:
                call.repeated = True
                again.append(call.encoded)
            elif not call.waits_for_notices:
                self._forget(call)
                call.fail(
                    ConnectionLost("The connection was lost before the answer came: it may have been done or not.")
                )
        self._outbox.put_first(again)

    async def _reconnect(self) -> None:
        for pause in _pauses():
            await asyncio.sleep(pause)
            try:
                await self._connect()
            except Unauthorized as error:
                self._give_up(error)
                return
            except WillowError as error:
                logger.info("Not connected to the broker yet: %s", error)
                if isinstance(error, ConnectionFailed):
                    self.brokers.failed()
            else:
                return

    def _give_up(self, reason: WillowError) -> None:
        self._end(reason)
        if self._listener is not None:
            self._listener.ended(reason)


def _why_closed(url: str, close_code: int | None) -> WillowError:
    if close_code == NOT_LET_IN:
        return Unauthorized(url)
    reason = f"The broker at {{url}} closed the connection before its hello (close code {close_code})."
    return ConnectionFailed(url, reason, "It may be stopping; try again.")


def _pauses() -> Iterator[float]:
    """Seconds to wait before each attempt, spread so that not all clients of a broker come back at once."""
    longest = FIRST_PAUSE
    while True:
        yield random.uniform(0, longest)
        longest = min(2 * longest, LONGEST_PAUSE)
