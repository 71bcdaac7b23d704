"""Commands under way, and what becomes of the frames that answer them."""

import asyncio
from collections.abc import Callable
from typing import Any

from willow_client.commands import Command, encode
from willow_client.errors import WillowError, broker_error
from willow_client.frames import AnyFrame, Error

NOT_YOURS = ("NoObject", "PermissionDenied")  # codes of answers to words about a claim that was lost


class Call:
    """A command and what is done with its answers. `repeatable`: it may be sent again after a reconnect."""

    __slots__ = ("encoded", "label", "repeatable", "repeated", "seconds")

    def __init__(self, command: Command, *, repeatable: bool) -> None:
        assert command.label is not None
        self.label = command.label
        self.encoded = encode(command)
        self.repeatable = repeatable
        self.repeated = False
        self.seconds: float | None = None  # until it is given up

    def take(self, frame: AnyFrame) -> bool:
        """Take a frame that has the command's label. Returns whether no more will come."""
        raise NotImplementedError

    def fail(self, error: WillowError) -> None:
        """There will be no answer."""
        raise NotImplementedError

    @property
    def awaited(self) -> str:
        """What did not happen, when its time is over."""
        return "the broker did not answer; it may have been carried out or not"

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for what the command brings."""
        return True

    @property
    def outlives_timeout(self) -> bool:
        """Whether something may come, after its caller gave up, that must not be left lying."""
        return False

    @property
    def waits_for_notices(self) -> bool:
        """Whether the broker has done its part, and will only tell what becomes of it."""
        return False

    @property
    def needs_repeating(self) -> bool:
        """Whether it must be sent again on a new connection."""
        return self.repeatable and self.is_wanted


class Answer(asyncio.Future[Any]):
    """`then` is called at once when it is there, where others who await a future are called in the loop's next turn."""

    then: Callable[[], None] | None = None

    def set_result(self, result: Any) -> None:
        super().set_result(result)
        if self.then is not None:
            self.then()

    def set_exception(self, error: type | BaseException) -> None:
        super().set_exception(error)
        if self.then is not None:
            self.then()

    def cancel(self, msg: Any = None) -> bool:
        is_cancelled = super().cancel(msg)
        if is_cancelled and self.then is not None:
            self.then()
        return is_cancelled


class AwaitedCall(Call):
    """A command that is answered by one frame, for somebody who awaits it."""

    __slots__ = ("answer",)

    def __init__(self, command: Command, *, repeatable: bool) -> None:
        super().__init__(command, repeatable=repeatable)
        self.answer = Answer(loop=asyncio.get_running_loop())

    @property
    def is_wanted(self) -> bool:
        return not self.answer.done()

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Error):
            self.fail(error_of(frame))
            return True
        return self._take_answer(frame)

    def _take_answer(self, frame: AnyFrame) -> bool:
        self.succeed(frame)
        return True

    def succeed(self, result: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: WillowError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class StandingCall(AwaitedCall):
    """A command whose effect ends with the connection, so that it is sent again on every new one."""

    __slots__ = ()

    def __init__(self, command: Command) -> None:
        super().__init__(command, repeatable=True)

    @property
    def needs_repeating(self) -> bool:
        return not self.answer.cancelled()

    @property
    def waits_for_notices(self) -> bool:
        return self.answer.done() and not self.answer.cancelled()

    def _take_answer(self, frame: AnyFrame) -> bool:
        self.succeed(frame)
        return False


def error_of(frame: Error) -> WillowError:
    return broker_error(frame.code, frame.key, frame.message)
