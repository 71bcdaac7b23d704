"""Messages in a worker's hands."""

import logging
from collections.abc import Callable

from willow_client.arguments import check_seconds
from willow_client.bodies import Body, WireBody, WithBody, to_wire
from willow_client.calls import NOT_YOURS, AwaitedCall, error_of
from willow_client.claims import id_of
from willow_client.commands import ClaimCommand, Fail, Finish, Keepalive, Persistence, Release
from willow_client.connection import Connection
from willow_client.errors import ClaimLost, WillowError
from willow_client.frames import AnyFrame, Delivery, Error
from willow_client.limits import Limit, NotGiven, limit

logger = logging.getLogger("willow_client")


class Message(WithBody):
    """A message that this client holds, and keeps alive, until it is finished, failed or released.

    A popped one has ended already.
    """

    __slots__ = ("_begun", "_connection", "_delivery", "_open", "is_settling")

    def __init__(self, connection: Connection, delivery: Delivery) -> None:
        self._body = delivery.body
        self._connection = connection
        self._delivery = delivery
        self._open = not delivery.finished
        self._begun = delivery.finished
        self.is_settling = False

    def __repr__(self) -> str:
        tags = f" {list(self.tags)}" if self.tags else ""
        return f"<Message {self.index} of {self.queue}{tags}, attempt {self.attempt}: {self._preview()}>"

    def __del__(self) -> None:
        if self._open and self._connection.claims.holds(self._delivery):
            logger.warning("%r was neither finished, failed nor released: it will time out", self)
            self._connection.soon(self._connection.claims.end, self._delivery)

    def read(self) -> WireBody:
        self.begin()
        return self._body

    def begin(self) -> None:
        """Say that the work on it has begun; whoever reads the body says so, too.

        When the client is closed, what has not begun goes back to its queue without an attempt spent.
        """
        if not self._begun:
            self._begun = True
            self._connection.claims.begin(self._delivery)

    def settling(self) -> None:
        """For handlers of workers: the work is done. What follows, such as noting how it ended, is interrupted neither
        by the end of the claim or of `time_limit` nor, for some seconds, by a worker that stops.
        """
        self.is_settling = True

    @property
    def queue(self) -> str:
        return self._delivery.queue

    @property
    def tags(self) -> tuple[str, ...]:
        return self._delivery.tags

    @property
    def shard(self) -> int:
        return self._delivery.shard

    @property
    def sequence(self) -> int:
        return self._delivery.sequence

    @property
    def index(self) -> int:
        return self._delivery.index

    @property
    def attempt(self) -> int:
        """1 on the first delivery."""
        return self._delivery.attempt

    @property
    def priority(self) -> int:
        return self._delivery.priority

    @property
    def headers(self) -> dict[str, str]:
        """What its poster sent along, by name."""
        return self._delivery.headers

    @property
    def group(self) -> str | None:
        """What it belongs to, if its poster said so."""
        return self._delivery.group

    @property
    def work_timeout(self) -> float | None:
        """Seconds that the claim lasts without a keepalive. The client sends them by itself."""
        return self._delivery.work_timeout

    @property
    def is_held(self) -> bool:
        """Whether it is still this client's, as far as is known."""
        return self._open and self._connection.claims.holds(self._delivery)

    def flush(self) -> None:
        """Send what was said, before the event loop's next turn."""
        self._connection.flush()

    def tell_when_lost(self, listener: Callable[[], None]) -> None:
        """Have the listener called, in the client's event loop, if the claim is lost."""
        self._connection.claims.tell_when_lost(self._delivery, listener)

    async def finish(
        self, reply: Body | None = None, *, wait: Persistence | None = "write", timeout: Limit = NotGiven
    ) -> None:
        """The work is done. `wait` says how safely that is stored before this returns; None does not wait.

        `reply` is for the poster, if it waits for one.
        """
        await self._end(self._finish(reply, wait), wait, timeout)

    def finish_call(self, connection: Connection) -> "ClaimCall":
        """A finish that the caller starts."""
        command = self._finish(None, "write")
        command.label = connection.new_label()
        return ClaimCall(connection, command, self._delivery, ends=True)

    def _finish(self, reply: Body | None, wait: Persistence | None) -> Finish:
        delivery = self._delivery
        return Finish(
            queue=delivery.queue,
            shard=delivery.shard,
            sequence=delivery.sequence,
            index=delivery.index,
            attempt=delivery.attempt,
            response=wait,
            reply=None if reply is None else to_wire("reply", reply, self._connection.options.max_body_bytes),
        )

    async def fail(
        self,
        error: str | None = None,
        *,
        delay: float | None = None,
        wait: Persistence | None = "write",
        timeout: Limit = NotGiven,
    ) -> None:
        """This attempt failed; the next one comes after `delay` seconds, or as the queue's backoff says."""
        await self._end(self._failure(error, wait, delay=check_seconds("delay", delay)), wait, timeout)

    async def give_up(
        self, error: str | None = None, *, wait: Persistence | None = "write", timeout: Limit = NotGiven
    ) -> None:
        """It makes no sense to try again: the message goes to the dead letter queue now."""
        await self._end(self._failure(error, wait, final=True), wait, timeout)

    def _failure(
        self, error: str | None, wait: Persistence | None, *, delay: float | None = None, final: bool = False
    ) -> Fail:
        delivery = self._delivery
        return Fail(
            queue=delivery.queue,
            shard=delivery.shard,
            sequence=delivery.sequence,
            index=delivery.index,
            attempt=delivery.attempt,
            response=wait,
            error=error,
            delay=delay,
            final=final,
        )

    async def release(self, *, wait: Persistence | None = "write", timeout: Limit = NotGiven) -> None:
        """Give it back as if it had not been handed out: at its old place, at once, and the attempt does not count."""
        await self._end(Release(messages=(id_of(self._delivery),), response=wait), wait, timeout)

    async def keepalive(self, *, timeout: Limit = NotGiven) -> None:
        """Start the claim's time again from zero, now. `ClaimLost` if it is not this client's any more."""
        delivery = self._delivery
        command = Keepalive(
            queue=delivery.queue,
            shard=delivery.shard,
            sequence=delivery.sequence,
            index=delivery.index,
            attempt=delivery.attempt,
            label=self._connection.new_label(),
        )
        call = ClaimCall(self._connection, command, delivery, ends=False)
        self._connection.start(call, limit(self._connection, timeout))
        await call.answer

    def let_go(self) -> Delivery:
        """Somebody else sees to the claim from here on."""
        self._open = False
        return self._delivery

    async def _end(self, command: ClaimCommand | Release, wait: Persistence | None, timeout: Limit) -> None:
        connection = self._connection
        if wait is None:
            self._open = False
            connection.claims.end(self._delivery)
            await connection.tell(command, limit(connection, timeout))
            return
        command.label = connection.new_label()
        call = ClaimCall(connection, command, self._delivery, ends=True)
        connection.start(call, limit(connection, timeout))
        await call.answer
        self._open = False


class ClaimCall(AwaitedCall):
    """A word about a claim. Once it is answered the claim has ended, if the word was to end it."""

    __slots__ = ("_connection", "_delivery", "_ends", "_heard_at", "_started_at")

    def __init__(
        self, connection: Connection, command: ClaimCommand | Release, delivery: Delivery, *, ends: bool
    ) -> None:
        super().__init__(command, repeatable=True)
        self._connection = connection
        self._delivery = delivery
        self._ends = ends
        self._heard_at = connection.heard_at
        self._started_at = connection.loop.time() if connection.is_open else 0.0

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Error):
            self._refused(frame)
        else:
            if self._ends:
                self._connection.claims.end(self._delivery)
            self.succeed(None)
        return True

    def _refused(self, frame: Error) -> None:
        if frame.code not in NOT_YOURS:
            self.fail(error_of(frame))
        elif self._was_carried_out(frame):
            self._connection.claims.end(self._delivery)
            self.succeed(None)
        else:
            self._connection.claims.lose(self._delivery)
            self.fail(_lost(frame))

    def _was_carried_out(self, frame: Error) -> bool:
        """Whether it was when it was sent first, and only the answer was lost: nobody holds the message now, and the
        claim would have outlasted the outage."""
        if not (self._ends and self.repeated and frame.code == "NoObject"):
            return False
        claims = self._connection.claims
        return claims.has_lasted(self._delivery, since=self._started_at, heard_at=self._heard_at)


def _lost(frame: Error) -> WillowError:
    return ClaimLost(frame.code, frame.key, frame.message)
