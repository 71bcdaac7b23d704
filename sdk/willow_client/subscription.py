"""A running subscription: an asynchronous iterator over messages as they come."""

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

from willow_client.arguments import check_seconds, check_whole
from willow_client.calls import StandingCall
from willow_client.commands import Match, Subscribe, Unsubscribe
from willow_client.connection import Connection
from willow_client.errors import ObjectAlreadyExists, Timeout, WillowError
from willow_client.frames import AnyFrame, Delivery, Error, Notice
from willow_client.message import Message
from willow_client.parts import Terms

MOST_IN_FLIGHT = 65_535  # messages of one subscription
CLOSE_SECONDS = 5.0  # that closing waits for the broker's word that it has everything back


class Subscription:
    """Begins with the first message asked for, or with `async with`, which also ends it.

    Messages that came and were not looked at are kept alive. At the end they go back to their queue, without an
    attempt spent; `break` out of `async for` is an end, too, unless `async with` says otherwise.
    """

    def __init__(self, connection: Connection, command: Subscribe, timeout: float | None) -> None:
        """`timeout`: seconds that the broker has to answer that it has begun."""
        self._connection = connection
        self._command = command
        self._timeout = timeout
        self._terms: Terms = (command.queue, frozenset(command.tags), _match(command))
        self._call: SubscriptionCall | None = None
        self._entered = False

    async def __aenter__(self) -> Self:
        self._entered = True
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        await self.close()

    def __aiter__(self) -> "Subscription | Iteration":
        return self if self._entered else Iteration(self)

    async def __anext__(self) -> Message:
        call = self._call or await self._begin()
        while True:
            delivery = call.next_delivery()
            if delivery is not None:
                return Message(self._connection, delivery)
            if call.ended is not None:
                raise call.ended
            await call.wait()

    @property
    def prefetched(self) -> int:
        """Messages that came and were not looked at yet."""
        return len(self._call.deliveries) if self._call is not None else 0

    def set_in_flight(self, in_flight: int) -> None:
        """Have so many unfinished at most, from here on. What is here already stays."""
        check_whole("in_flight", in_flight, 1, MOST_IN_FLIGHT)
        self._command.in_flight = in_flight
        if self._call is not None and self._connection.is_open:
            self._connection.change(self._call, self._command)

    async def close(self, *, forget: bool = False, timeout: float = CLOSE_SECONDS) -> None:
        """End it; what came and was not looked at goes back to its queue.

        `forget` gives up a stream's position as well. `timeout`: seconds to wait for the broker's word that it has
        everything back; if it does not come, nothing is raised, and the broker finds out by itself.
        """
        check_seconds("timeout", timeout)
        await self._give_back(self._end(forget=forget), timeout)

    def _end(self, *, forget: bool = False) -> list[Delivery]:
        """From here on nothing more comes, and the client can subscribe anew. Returns what is to be given back."""
        call, self._call = self._call, None
        connection = self._connection
        if call is None or not connection.is_open:
            return []
        connection.open_subscriptions.pop(self._terms, None)
        connection.stop(call.label)
        connection.say(Unsubscribe(label=call.label, forget=forget))
        return [delivery for delivery in call.deliveries if connection.claims.holds(delivery)]

    async def _give_back(self, deliveries: list[Delivery], seconds: float = CLOSE_SECONDS) -> None:
        await asyncio.gather(*self._connection.give_back(deliveries, seconds), return_exceptions=True)

    def left(self) -> None:
        """The loop over it was left: end it now, and give back soon. Called in whatever thread frees the loop."""
        if self._call is not None:
            self._connection.soon(self._abandon)

    def _abandon(self) -> None:
        if self._call is not None and self._connection.is_open:
            task = self._connection.loop.create_task(self._give_back(self._end()))
            self._connection.background.add(task)
            task.add_done_callback(self._connection.background.discard)

    async def _begin(self) -> "SubscriptionCall":
        if self._call is None:
            self._refuse_a_second_one()
            self._command.label = self._connection.labels.new_of_subscription()
            self._call = SubscriptionCall(self._connection, self._command)
            self._connection.start(self._call, self._timeout)
            self._connection.open_subscriptions[self._terms] = self
        call = self._call
        try:
            await asyncio.shield(call.answer)
        except WillowError as error:
            if self._call is call:
                self._refused(call, error)
            raise
        return call

    def _refused(self, call: "SubscriptionCall", error: WillowError) -> None:
        self._call = None
        self._connection.open_subscriptions.pop(self._terms, None)
        if isinstance(error, Timeout):  # the broker may still come to it
            self._connection.say(Unsubscribe(label=call.label))

    def _refuse_a_second_one(self) -> None:
        """The broker would take the first for replaced, and its reader would wait for ever."""
        if self._terms in self._connection.open_subscriptions:
            queue = self._command.queue
            reason = f"This client reads {queue} already, with the same tags and match."
            remedy = "Close that subscription first, let it have more in_flight, or connect another client."
            raise ObjectAlreadyExists("ObjectAlreadyExists", queue, f"{reason} {remedy}")


class Iteration:
    """One loop over a subscription; dropped by a loop that is left, which ends the subscription."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return await self._subscription.__anext__()

    def __del__(self) -> None:
        self._subscription.left()


class SubscriptionCall(StandingCall):
    """Answered once by `subscribed`, then by messages without end; made again on every new connection."""

    __slots__ = ("_command", "_connection", "_waiters", "deliveries", "ended")

    def __init__(self, connection: Connection, command: Subscribe) -> None:
        super().__init__(command)
        self._connection = connection
        self._command = command
        self._waiters: deque[asyncio.Future[None]] = deque()
        self.deliveries: deque[Delivery] = deque()
        self.ended: WillowError | None = None

    def _take_answer(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Delivery):
            self._add(frame)
        elif not isinstance(frame, Notice | Error):
            self.succeed(None)
            self._take_over_strays()
        return False

    def _add(self, delivery: Delivery) -> None:
        if self._connection.claims.add(delivery):
            self.deliveries.append(delivery)
            self._wake_one()

    def _take_over_strays(self) -> None:
        """Messages that the broker sent before it knew that this subscription goes on with one of an earlier life."""
        strays = self._connection.strays
        ours = [stray for stray in strays if _reads(self._command, stray)]
        self._connection.strays = [stray for stray in strays if stray not in ours]
        for stray in ours:
            self._add(stray)

    def next_delivery(self) -> Delivery | None:
        """The next one that was not lost while it lay here."""
        while self.deliveries:
            delivery = self.deliveries.popleft()
            if self._connection.claims.holds(delivery):
                return delivery
        return None

    async def wait(self) -> None:
        """Until something has come, or the subscription has ended. Of several who wait, each delivery wakes one."""
        waiter: asyncio.Future[None] = self._connection.loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._wake_one()  # what has come is for somebody else
            raise

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def fail(self, error: WillowError) -> None:
        super().fail(error)
        self.ended = error
        while self._waiters:
            self._wake_one()


def _match(command: Subscribe) -> Match:
    return command.match or ("exact" if command.tags else "all")


def _reads(command: Subscribe, delivery: Delivery) -> bool:
    """Whether the subscription reads the queue that the message comes from."""
    if command.queue != delivery.queue:
        return False
    wanted, tags = frozenset(command.tags), frozenset(delivery.tags)
    match = _match(command)
    if match == "all":
        return True
    if match == "exact":
        return wanted == tags
    return wanted <= tags if match == "strict" else bool(wanted & tags)
