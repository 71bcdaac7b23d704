"""A coroutine that the event loop runs for a thread that waits for its end."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Generic, TypeVar, cast

from willow_client.calls import Answer

Result = TypeVar("Result")


class Called(Generic[Result]):
    """Runs without a task, and its thread waits for a bare lock. A task, and the two futures through which one would be
    awaited from another thread, take more turns of the loop than all of the rest. So it may await futures, but nothing
    that asks for the current task, such as `asyncio.timeout`.

    `flush` sends what it has said.
    """

    __slots__ = ("_awaited", "_context", "_coroutine", "_ended", "_error", "_value", "flush")

    def __init__(self, coroutine: Coroutine[Any, Any, Result], flush: Callable[[], None]) -> None:
        self.flush = flush
        self._coroutine = coroutine
        self._context = copy_context()
        self._awaited: asyncio.Future[Any] | None = None
        self._value: Result | None = None
        self._error: BaseException | None = None
        self._ended = threading.Lock()
        self._ended.acquire()

    def wait(self, loop: asyncio.AbstractEventLoop) -> Result:
        """For its end, in another thread than the loop's."""
        try:
            self._ended.acquire()
        except BaseException:  # of a signal's handler: nobody waits any longer
            loop.call_soon_threadsafe(self._cancel)
            raise
        if self._error is not None:
            raise self._error
        return cast(Result, self._value)

    # in the loop

    def begin(self) -> None:
        self._context.run(self._step)

    def _step(self, done: object = None) -> None:
        """Go on until the coroutine awaits a future that is not done yet."""
        try:
            awaited = self._coroutine.send(None)
        except StopIteration as end:
            self._value = end.value
            self._ended.release()
        except BaseException as error:
            self._error = error
            self._ended.release()
        else:
            self._go_on_after(awaited)

    def _go_on_after(self, awaited: "asyncio.Future[Any]") -> None:
        # As a task does: it tells a future that is awaited from one that is yielded.
        awaited._asyncio_future_blocking = False
        self._awaited = awaited
        if isinstance(awaited, Answer):
            awaited.then = self.begin
        else:
            awaited.add_done_callback(self._step, context=self._context)

    def _cancel(self) -> None:
        if self._awaited is not None:
            self._awaited.cancel()
