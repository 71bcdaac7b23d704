"""A running subscription: an asynchronous iterator over messages as they come."""

import asyncio
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from willow_client.calls import Call
from willow_client.connection import Connection
from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Delivery, Subscribe, Unsubscribe
from willow_client.message import Message


class Subscription:
    """Begins with the first message asked for, or with `async with`, which also ends it."""

    def __init__(self, connection: Connection, command: Subscribe) -> None:
        self._connection = connection
        self._command = command
        self._deliveries: deque[Delivery] = deque()
        self._something = asyncio.Event()
        self._call: SubscriptionCall | None = None

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        call = await self._begin()
        while not self._deliveries:
            if call.ended is not None:
                raise call.ended
            self._something.clear()
            await self._something.wait()
        return self._message(self._deliveries.popleft())

    async def close(self) -> None:
        """End the subscription; what came and was not looked at goes back to its queue."""
        if self._call is None:
            return
        assert self._command.label is not None
        self._connection.stop(self._command.label)
        await self._connection.tell(Unsubscribe(label=self._command.label))
        while self._deliveries:
            message = self._message(self._deliveries.popleft())
            await message.fail("the subscription ended", delay=0.0, wait=None)
        self._call = None

    async def _begin(self) -> "SubscriptionCall":
        if self._call is None:
            self._command.label = self._connection.new_label()
            self._call = SubscriptionCall(self._command, self._deliveries, self._something)
            self._connection.start(self._command.label, self._call)
        if not self._call.answer.done():
            await self._call.answer
        return self._call

    def _message(self, delivery: Delivery) -> Message:
        return Message(self._connection, delivery, self._command.work_timeout)


class SubscriptionCall(Call):
    """Answered once by `subscribed`, then by messages without end; made again on every new connection."""

    __slots__ = ("_deliveries", "_something", "ended")

    def __init__(self, command: Subscribe, deliveries: deque[Delivery], something: asyncio.Event) -> None:
        super().__init__(command, repeatable=True)
        self._deliveries = deliveries
        self._something = something
        self.ended: WillowError | None = None

    def _take_answers(self, frames: Sequence[AnyFrame]) -> bool:
        deliveries = [frame for frame in frames if isinstance(frame, Delivery)]
        if len(deliveries) < len(frames):
            self._succeed(None)
        self._deliveries.extend(deliveries)
        self._something.set()
        return False

    def fail(self, error: WillowError) -> None:
        super().fail(error)
        self.ended = error
        self._something.set()
