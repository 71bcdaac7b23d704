"""The fake's methods, not awaited. Nothing in it waits for anything, so each is over as soon as it has begun."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from willow_testing.fake_messages import FakeMessage, FakeWorking

if TYPE_CHECKING:
    from willow_testing.fake import FakeWillow


def _now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Without an event loop: the code under test may run in one."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("The blocking fake cannot wait: use the awaited one.")


class BlockingFakeMessage:
    def __init__(self, message: FakeMessage) -> None:
        self.message = message

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.message, name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *arguments, **how: _now(found(*arguments, **how))


def _blocking(outcome: Any) -> Any:
    if isinstance(outcome, list):
        return [_blocking(one) for one in outcome]
    return BlockingFakeMessage(outcome) if isinstance(outcome, FakeMessage) else outcome


class BlockingFake:
    """The same methods, not awaited."""

    def __init__(self, fake: "FakeWillow") -> None:
        self._fake = fake

    def __enter__(self) -> "BlockingFake":
        return self

    def __exit__(self, *error: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._fake, name)
        if not inspect.iscoroutinefunction(method):
            return method
        return lambda *arguments, **how: _blocking(_now(method(*arguments, **how)))

    def run(self, queue: str, handler: Callable[[FakeMessage], Any], *, delayed: bool = False) -> int:
        """A handler may be asynchronous, and wait."""
        return asyncio.run(self._fake.run(queue, handler, delayed=delayed))

    def finish_many(self, messages: list[BlockingFakeMessage], **how: Any) -> None:
        _now(self._fake.finish_many([message.message for message in messages]))

    def subscribe(self, queue: str, **how: Any) -> Iterator[BlockingFakeMessage]:
        while (message := self.fetch(queue)) is not None:
            yield message

    @contextmanager
    def working(self, message: BlockingFakeMessage) -> Iterator[FakeWorking]:
        working = self._fake.working(message.message)
        try:
            yield working
        except BaseException as error:
            _now(working.__aexit__(type(error), error, error.__traceback__))
            raise
        _now(working.__aexit__(None, None, None))

    @contextmanager
    def worker(self, queue: str, handler: Callable[[FakeMessage], Any], **how: Any) -> Iterator[None]:
        self.run(queue, handler)
        yield
        self.run(queue, handler)
