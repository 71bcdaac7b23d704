"""Commands under way, and what becomes of the frames that answer them."""

import asyncio
from typing import Any

from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Command, Delivery, Error, NoMessage, encode


class Call:
    """A command that is answered by one frame. `repeatable`: it may be sent again after a reconnect."""

    __slots__ = ("answer", "encoded", "repeatable")

    def __init__(self, command: Command, *, repeatable: bool) -> None:
        self.encoded = encode(command)
        self.repeatable = repeatable
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @property
    def is_abandoned(self) -> bool:
        """Whether the caller was cancelled and nobody takes what the command brings."""
        return self.answer.cancelled()

    def take(self, frame: AnyFrame) -> bool:
        """Take a frame with the command's label. Returns whether no more will come."""
        if isinstance(frame, Error):
            self.fail(WillowError(frame.code, frame.key, frame.message))
        else:
            self.succeed(frame)
        return True

    def succeed(self, result: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: WillowError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class SeveralCall(Call):
    """A command that is answered by that many frames; its answer is their list."""

    __slots__ = ("_frames", "_wanted")

    def __init__(self, command: Command, *, wanted: int, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self._wanted = wanted
        self._frames: list[AnyFrame] = []

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Error):
            return super().take(frame)
        self._frames.append(frame)
        if len(self._frames) < self._wanted:
            return False
        self.succeed(self._frames)
        return True


class DeliveriesCall(Call):
    """A fetch or pop of up to so many messages. All that come, come in the same text."""

    __slots__ = ("_deliveries", "_wanted")

    def __init__(self, command: Command, *, wanted: int, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self._wanted = wanted
        self._deliveries: list[Delivery] = []

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, NoMessage):
            self.succeed([])
            return True
        if not isinstance(frame, Delivery):
            return super().take(frame)
        self._deliveries.append(frame)
        return len(self._deliveries) == self._wanted

    def text_ended(self) -> bool:
        if self._deliveries:
            self.succeed(self._deliveries)
        return bool(self._deliveries)
