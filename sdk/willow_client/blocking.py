"""What the blocking client gives out: messages, receipts, subscriptions and workers whose methods return when done."""

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from willow_client.background import background
from willow_client.bodies import Body, WithBody
from willow_client.errors import ClaimLost
from willow_client.message import Message as HeldMessage
from willow_client.receipt import Receipt as FollowedReceipt
from willow_client.subscription import Subscription as RunningSubscription
from willow_client.worker import QueueWorker
from willow_client.working import fail_with


class Message(WithBody):
    """A message that this client holds, and keeps alive, until it is finished, failed or released."""

    __slots__ = ("_message", "_process")

    def __init__(self, message: HeldMessage) -> None:
        super().__init__(message.wire_body)
        self._message = message
        self._process = os.getpid()

    def __repr__(self) -> str:
        return repr(self._message)

    def __getattr__(self, name: str) -> Any:
        """`queue`, `tags`, `shard`, `sequence`, `index`, `attempt`, `priority`, `work_timeout`, `is_held`."""
        return getattr(self._message, name)

    def held(self) -> HeldMessage:
        if self._process != os.getpid():
            reason = "The message was taken before this process was forked: its parent holds it."
            raise ClaimLost("NoObject", f"{self._message.shard}/{self._message.sequence}", reason)
        return self._message

    def finish(self, reply: Body | None = None, **how: Any) -> None:
        """The work is done."""
        background.run(self.held().finish(reply, **how))

    def fail(self, error: str | None = None, **how: Any) -> None:
        """This attempt failed."""
        background.run(self.held().fail(error, **how))

    def give_up(self, error: str | None = None, **how: Any) -> None:
        """It makes no sense to try again."""
        background.run(self.held().give_up(error, **how))

    def release(self, **how: Any) -> None:
        """Give it back as if it had not been handed out."""
        background.run(self.held().release(**how))

    def keepalive(self, **how: Any) -> None:
        """Start the claim's time again from zero, now."""
        background.run(self.held().keepalive(**how))


class Receipt:
    """Where a post was stored; the stages that it asked for can be waited for."""

    __slots__ = ("_receipt",)

    def __init__(self, receipt: FollowedReceipt) -> None:
        self._receipt = receipt

    def __repr__(self) -> str:
        return repr(self._receipt)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Receipt) and self._receipt == other._receipt

    def __hash__(self) -> int:
        return hash(self._receipt)

    def __getattr__(self, name: str) -> Any:
        """`queue`, `shard`, `sequence`, `index`, `duplicate`; and blocking `finished()`, `assigned()` and so on."""
        value = getattr(self._receipt, name)
        if not callable(value):
            return value
        return lambda **how: background.run(value(**how))

    @property
    def followed(self) -> FollowedReceipt:
        return self._receipt


class Subscription:
    """Messages as they come: for `for`, or `with` and `for`. Leaving the loop gives back what was not looked at."""

    def __init__(self, subscription: RunningSubscription) -> None:
        self._subscription = subscription

    def __enter__(self) -> Self:
        background.run(self._subscription.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        background.run(self._subscription.__aexit__(kind, error, trace))

    def __iter__(self) -> Iterator[Message]:
        messages = self._subscription.__aiter__()
        while True:
            yield Message(background.run(messages.__anext__()))

    def __next__(self) -> Message:
        return Message(background.run(self._subscription.__anext__()))

    def close(self, *, forget: bool = False) -> None:
        background.run(self._subscription.close(forget=forget))


class Working:
    """`with`: finishes the message on success and fails it on an exception, which goes on to the caller."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.reply: Body | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.message.finish(self.reply)
        elif self.message.is_held:
            background.run(fail_with(self.message.held(), error))


class Worker:
    """`with`: works on the messages of a queue in threads until its end, and then drains."""

    def __init__(self, worker: QueueWorker) -> None:
        self._worker = worker

    def __enter__(self) -> Self:
        background.run(self._worker.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        background.run(self._worker.__aexit__(kind, error, trace))
