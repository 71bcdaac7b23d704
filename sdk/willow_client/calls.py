"""Commands under way, and what becomes of the frames that answer them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Command, Error, NoMessage, encode


class Call:
    """A command that is answered by one frame. `repeatable`: it may be sent again after a reconnect."""

    __slots__ = ("answer", "encoded", "repeatable")

    def __init__(self, command: Command, *, repeatable: bool) -> None:
        self.encoded = encode(command)
        self.repeatable = repeatable
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @property
    def is_abandoned(self) -> bool:
        """Whether the caller was cancelled, so that nobody takes what the command brings."""
        return self.answer.cancelled()

    def take(self, frames: Sequence[AnyFrame]) -> bool:
        """Take frames that came together with the command's label. Returns whether no more will come."""
        if isinstance(frames[0], Error):
            self.fail(error_of(frames[0]))
            return True
        return self._take_answers(frames)

    def _take_answers(self, frames: Sequence[AnyFrame]) -> bool:
        self._succeed(frames[0])
        return True

    def _succeed(self, result: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: WillowError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class StandingCall(Call):
    """A command whose effect ends with the connection, so that it is sent again on every new one."""

    __slots__ = ()

    def __init__(self, command: Command) -> None:
        super().__init__(command, repeatable=True)

    def _take_answers(self, frames: Sequence[AnyFrame]) -> bool:
        super()._take_answers(frames)
        return False


class SeveralCall(Call):
    """A command that is answered by so many frames; its answer is their list."""

    __slots__ = ("_frames", "_wanted")

    def __init__(self, command: Command, *, wanted: int, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self._wanted = wanted
        self._frames: list[AnyFrame] = []

    def _take_answers(self, frames: Sequence[AnyFrame]) -> bool:
        self._frames.extend(frames)
        if len(self._frames) < self._wanted:
            return False
        self._succeed(self._frames)
        return True


class DeliveriesCall(Call):
    """A fetch or pop of several messages: those that come, come together."""

    __slots__ = ()

    def _take_answers(self, frames: Sequence[AnyFrame]) -> bool:
        self._succeed([] if isinstance(frames[0], NoMessage) else frames)
        return True


def error_of(frame: Error) -> WillowError:
    return WillowError(frame.code, frame.key, frame.message)
