"""The connection of a client to its broker.

Commands go out in one text per turn of the event loop, answers find their commands by label, and a lost
socket is replaced by a new one that takes up the same identity.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from willow_client.brokers import Brokers
from willow_client.calls import AwaitedCall, Call, error_of
from willow_client.claims import Claims
from willow_client.commands import Command, encode
from willow_client.errors import ConnectionLost, Timeout, WillowError, without_query
from willow_client.frames import AnyFrame, Delivery, Error, Hello, decode
from willow_client.labels import Labels
from willow_client.link import Link
from willow_client.options import Options
from willow_client.outbox import Outbox
from willow_client.parts import Closable, Listener, Terms
from willow_client.threads import runs_here
from willow_client.timetable import Timetable
from willow_client.websocket import CLOSE_SECONDS

logger = logging.getLogger("willow_client")


class Connection:
    """Belongs to the event loop that opens it."""

    def __init__(self, brokers: Brokers, options: Options, listener: Listener | None = None) -> None:
        self.brokers = brokers
        self.options = options
        self.strays: list[Delivery] = []  # for subscriptions of an earlier life, which nobody has taken over yet
        self._early: list[Delivery] = []  # that came with the hello, and go back as soon as something can be said
        self.open_subscriptions: dict[Terms, Closable] = {}
        self.background: set[asyncio.Task[None]] = set()  # subscriptions that are being closed
        self._listener = listener
        self._link = Link(brokers, options, self)
        self.labels = Labels()
        self.new_label = self.labels.new
        self._calls: dict[int | None, Call] = {}  # under way, by label, in the order in which they were made
        self._outbox = Outbox(batch=options.batch)
        self._flush_is_due = False
        self._ended: WillowError | None = ConnectionLost("This client is not open: use `async with`, or await open().")

    # opening and closing

    @property
    def is_open(self) -> bool:
        return self._ended is None

    @property
    def is_connected(self) -> bool:
        return self._link.socket is not None

    @property
    def heard_at(self) -> float:
        """When the broker was last heard of, on the loop's clock."""
        return self._link.heard_at

    async def open(self, seconds: float | None = None) -> None:
        """Connect for the first time, to any of the brokers; raises if that fails, or takes longer."""
        self.loop = asyncio.get_running_loop()
        self._process = os.getpid()
        self.claims = Claims(self, self.loop)
        self._deadlines: Timetable[int] = Timetable(self.loop, self._timed_out)
        self._ended = None
        try:
            await self._link.open_within(seconds)
        except BaseException as error:
            self._end(error if isinstance(error, WillowError) else ConnectionLost("It was never opened."))
            raise

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """`seconds`: that the other side has to close as well."""
        self._end(ConnectionLost("This client was closed."))
        await self._link.close(seconds)

    async def all_sent(self) -> None:
        """Wait until what was said has left, if there is a way out."""
        self.flush()
        if self.is_connected:
            await self._outbox.emptied()

    def move(self, url: str) -> None:
        """Go on at another broker, as a client that holds nothing."""
        self.flush()
        self._link.move(url)

    def _end(self, reason: WillowError) -> None:
        """From here on nothing is sent and every command fails."""
        if self._ended is not None:
            return
        self.flush()
        self._ended = reason
        self._outbox.let_everybody_go()
        self.claims.clear()
        self._deadlines.clear()
        for call in list(self._calls.values()):
            call.fail(reason)
        self._calls.clear()

    # commands

    def ask(self, command: Command, *, repeatable: bool, timeout: float | None = None) -> asyncio.Future[Any]:
        """Send a command that is answered by one frame."""
        command.label = self.new_label()
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

    def change(self, call: Call, command: Command) -> None:
        """A command that stands is another one from here on, also on the connections to come."""
        self._outbox.withdraw(call.encoded)
        call.encoded = encode(command)
        self._send_soon(call.encoded)

    def stop(self, label: int) -> None:
        """Wait no longer for frames with this label."""
        call = self._calls.get(label)
        if call is not None:
            self._forget(call)

    async def tell(self, command: Command, timeout: float | None) -> None:
        """Send a command without waiting for its answer; what the broker has against it is logged.

        If too much is to be sent already, wait until there is room.
        """
        if self._ended is not None:
            raise self._ended
        encoded = encode(command)
        self._send_soon(encoded)
        if not self._outbox.has_room:
            await self._wait_for_room(encoded, timeout)

    async def _wait_for_room(self, encoded: bytes, timeout: float | None) -> None:
        room = asyncio.ensure_future(self._outbox.room())
        try:
            await asyncio.wait((room,), timeout=timeout)
            if not room.done() and self._outbox.withdraw(encoded):
                reason = "it was not sent, because the broker takes nothing or cannot be reached"
                raise Timeout(f"Within {timeout:g} seconds {reason}.")
        finally:
            room.cancel()
        if self._ended is not None:
            raise self._ended

    def say(self, command: Command) -> None:
        """Send a command that has a meaning on this socket only; while there is none, it is dropped."""
        if self.is_connected and self._ended is None:
            self._send_soon(encode(command))

    def release(self, deliveries: Iterable[Delivery]) -> None:
        """Give messages back without waiting for the answer. Without a connection there is no need to."""
        for command in self.claims.release_commands(deliveries):
            self.say(command)

    def give_back(self, deliveries: Iterable[Delivery], timeout: float | None = None) -> list[asyncio.Future[Any]]:
        """The same, with answers."""
        answers = []
        for command in self.claims.release_commands(deliveries):
            if self.is_connected:
                command.response = "write"
                answers.append(self.ask(command, repeatable=False, timeout=timeout))
        return answers

    def soon(self, action: Callable[..., None], *arguments: Any) -> None:
        """Do something in the event loop: at once if it is this thread's. Objects may be freed in any thread.

        A process that was forked leaves its parent's loop alone.
        """
        if self._ended is not None or self._process != os.getpid() or self.loop.is_closed():
            return
        if runs_here(self.loop):
            action(*arguments)
        else:
            self.loop.call_soon_threadsafe(action, *arguments)

    def _send_soon(self, encoded: bytes) -> None:
        self._outbox.put(encoded)
        if not self._flush_is_due:
            self._flush_is_due = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        self._flush_is_due = False
        socket = self._link.socket
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
            why = call.awaited
        url = without_query(self.brokers.current)
        call.fail(Timeout(f"Within {call.seconds:g} seconds {why}. Broker: {url}. Give more time with timeout=…."))
        if not call.outlives_timeout:
            self._forget(call)

    # answers

    def received(self, text: bytes) -> None:
        for frame in decode(text):
            call = self._calls.get(frame.label)
            if call is None:
                self._unasked(frame)
            elif call.take(frame) and call.label in self._calls:
                self._forget(call)

    def _unasked(self, frame: AnyFrame) -> None:
        if isinstance(frame, Hello):
            self._link.greet(frame)
        elif isinstance(frame, Delivery):
            self._take_stray(frame)
        elif frame.label is not None:
            pass  # the answer to a call that has been given up
        elif self._listener is not None and self.is_connected:
            self._listener.unasked(frame)
        elif isinstance(frame, Error) and not self._link.refuse(error_of(frame)):
            logger.warning("The broker refused a command: %s", error_of(frame))

    def _take_stray(self, delivery: Delivery) -> None:
        """A message that nobody asked for, or nobody any more."""
        if delivery.finished or self.claims.holds_attempt(delivery):
            return
        if delivery.label is None or self.labels.are_own(delivery.label):
            if self.is_connected:
                self.release([delivery])
            else:
                self._early.append(delivery)
        else:
            self.strays.append(delivery)

    # what the link tells

    def connected(self, node: str, *, is_known: bool, is_first: bool) -> None:
        if not is_first:
            self._resume(was_known=is_known)
        early, self._early = self._early, []
        self.release(early)
        self.flush()
        if self._listener is not None:
            self._listener.connected(node)

    def _resume(self, *, was_known: bool) -> None:
        """Claims may have lasted: each is asked after."""
        if not was_known:
            lost = ConnectionLost("The connection was lost, and what this client was to be told with it.")
            for call in [call for call in self._calls.values() if not call.needs_repeating]:
                if call.encoded not in self._outbox.unsent():
                    self._forget(call)
                    call.fail(lost)
        self.claims.confirm_all()

    def disconnected(self) -> None:
        if self._listener is not None:
            self._outbox.clear()
            self._listener.lost()
        self._keep_what_can_be_repeated()

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

    def given_up(self, reason: WillowError) -> None:
        self._end(reason)
        if self._listener is not None:
            self._listener.ended(reason)
