"""What the blocking client gives out: messages, receipts, subscriptions and workers whose methods return when done."""

import os
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self

from willow_client.background import background
from willow_client.bodies import Body, WireBody, WithBody
from willow_client.commands import Stage
from willow_client.errors import ClaimLost, ConnectionLost
from willow_client.message import Message as HeldMessage
from willow_client.receipt import Receipt as FollowedReceipt
from willow_client.spans import consuming
from willow_client.subscription import CLOSE_SECONDS
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

    def read(self) -> WireBody:
        self._message.begin()
        return self._body

    def held(self) -> HeldMessage:
        if self._process != os.getpid():
            reason = "The message was taken before this process was forked: its parent holds it."
            raise ClaimLost("NoObject", f"{self._message.shard}/{self._message.sequence}", reason)
        return self._message

    def finish(self, reply: Body | None = None, **how: Any) -> None:
        """The work is done."""
        held = self.held()
        background.call(held.finish(reply, **how), held.flush)

    def fail(self, error: str | None = None, **how: Any) -> None:
        """This attempt failed."""
        held = self.held()
        background.call(held.fail(error, **how), held.flush)

    def give_up(self, error: str | None = None, **how: Any) -> None:
        """It makes no sense to try again."""
        held = self.held()
        background.call(held.give_up(error, **how), held.flush)

    def release(self, **how: Any) -> None:
        """Give it back as if it had not been handed out."""
        held = self.held()
        background.call(held.release(**how), held.flush)

    def keepalive(self, **how: Any) -> None:
        """Start the claim's time again from zero, now."""
        held = self.held()
        background.call(held.keepalive(**how), held.flush)


class Receipt:
    """Where a post was stored; the stages that it asked for can be waited for."""

    __slots__ = ("_process", "_receipt")

    def __init__(self, receipt: FollowedReceipt) -> None:
        self._receipt = receipt
        self._process = os.getpid()

    def __repr__(self) -> str:
        return repr(self._receipt)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Receipt) and self._receipt == other._receipt

    def __hash__(self) -> int:
        return hash(self._receipt)

    def __getattr__(self, name: str) -> Any:
        """`queue`, `shard`, `sequence`, `index`, `duplicate`."""
        return getattr(self._receipt, name)

    @property
    def followed(self) -> FollowedReceipt:
        return self._receipt

    def _here(self) -> FollowedReceipt:
        _check_process(self._process, "The message was posted before this process was forked: its parent is told.")
        return self._receipt

    def ready(self, *, timeout: float | None = None) -> None:
        """The broker has it in memory."""
        background.run(self._here().ready(timeout=timeout))

    def written(self, *, timeout: float | None = None) -> None:
        """It is committed."""
        background.run(self._here().written(timeout=timeout))

    def synced(self, *, timeout: float | None = None) -> None:
        """It is committed and flushed to disk."""
        background.run(self._here().synced(timeout=timeout))

    def assigned(self, *, timeout: float | None = None) -> None:
        """A client got it."""
        background.run(self._here().assigned(timeout=timeout))

    def retried(self, *, timeout: float | None = None) -> None:
        """An attempt ended without a finish, and there will be another."""
        background.run(self._here().retried(timeout=timeout))

    def dropped(self, *, timeout: float | None = None) -> None:
        """It was moved to the dead letter queue."""
        background.run(self._here().dropped(timeout=timeout))

    def finished(self, *, timeout: float | None = None) -> bytes | None:
        """A client finished it: returns its reply, if it sent one."""
        return background.run(self._here().finished(timeout=timeout))

    def notices(self, *, timeout: float | None = None) -> Iterator[Stage]:
        """The stages that were asked for, as they happen, until the message has ended."""
        notices = self._here().notices(timeout=timeout)
        while True:
            stage = background.run(_next_or_none(notices))
            if stage is None:
                return
            yield stage


async def _next_or_none(notices: AsyncIterator[Stage]) -> Stage | None:
    return await anext(notices, None)


class Subscription:
    """Messages as they come: for `for`, or `with` and `for`. Leaving the loop gives back what was not looked at."""

    def __init__(self, subscription: RunningSubscription) -> None:
        self._subscription = subscription
        self._process = os.getpid()
        self._entered = False

    def _here(self) -> RunningSubscription:
        _check_process(self._process, "The subscription was made before this process was forked: it is its parent's.")
        return self._subscription

    def __enter__(self) -> Self:
        background.run(self._here().__aenter__())
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        background.run(self._here().__aexit__(kind, error, trace))

    def __iter__(self) -> Iterator[Message]:
        try:
            while True:
                yield next(self)
        finally:
            if not self._entered:
                self._subscription.left()

    def __next__(self) -> Message:
        return Message(background.run(self._here().__anext__()))

    def close(self, *, forget: bool = False, timeout: float = CLOSE_SECONDS) -> None:
        """End it; what came and was not looked at goes back to its queue."""
        background.run(self._here().close(forget=forget, timeout=timeout))


class Working:
    """`with`: finishes the message on success and fails it on an exception, which goes on to the caller."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.reply: Body | None = None
        self._span = consuming(message)

    def __enter__(self) -> Self:
        self.message.held().begin()
        self._span.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, trace)
        if error is None:
            self.message.finish(self.reply)
        elif self.message.is_held:
            background.run(fail_with(self.message.held(), error))


class Worker:
    """`with`: works on the messages of a queue in threads until its end, and then drains."""

    def __init__(self, worker: QueueWorker) -> None:
        self._worker = worker
        self._process = os.getpid()

    def __enter__(self) -> Self:
        _check_process(self._process, "The worker was made before this process was forked: it is its parent's.")
        background.run(self._worker.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _check_process(self._process, "The worker was begun before this process was forked: its parent ends it.")
        background.run(self._worker.__aexit__(kind, error, trace))


def _check_process(process: int, reason: str) -> None:
    if process != os.getpid():
        raise ConnectionLost(reason)
