"""Running a handler: awaited if it is asynchronous, in a thread of its own if it blocks.

The event loop stays free in either case, so that everything held is kept alive.
"""

import asyncio
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

Subject = TypeVar("Subject")
Taken = TypeVar("Taken", contravariant=True)
Handler: TypeAlias = Callable[[Subject], Any]


class Runner(Protocol[Taken]):
    """Runs the handler on one subject after the other."""

    async def prepare(self) -> None:
        """Whatever takes its time before the first subject, and is no part of the work on it."""

    async def run(self, subject: Taken) -> Any: ...

    def close(self) -> None: ...


def is_asynchronous(handler: Handler[Any]) -> bool:
    call = getattr(handler, "__call__", None)  # noqa: B004 -- of an object that is called like a function
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


class Awaited(Generic[Subject]):
    def __init__(self, handler: Callable[[Subject], Awaitable[Any]]) -> None:
        self._handler = handler

    async def prepare(self) -> None:
        pass

    async def run(self, subject: Subject) -> Any:
        return await self._handler(subject)

    def close(self) -> None:
        pass


class InThread(Generic[Subject]):
    """One thread, which ends with the process whatever its handler does: it cannot be stopped from outside."""

    def __init__(self, handler: Handler[Subject], name: str) -> None:
        self._handler = handler
        self._name = name
        self._subjects: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_free = asyncio.Event()
        self._is_free.set()

    async def prepare(self) -> None:
        """A handler that was given up may still be at work: nothing more is taken before it has come back."""
        await self._is_free.wait()

    async def run(self, subject: Subject) -> Any:
        """If this is cancelled, the thread goes on, and the next subject waits for it."""
        loop = asyncio.get_running_loop()
        self._is_free.clear()
        result: asyncio.Future[Any] = loop.create_future()
        context = copy_context()

        def work() -> None:
            try:
                outcome, error = context.run(self._handler, subject), None
            except BaseException as raised:
                outcome, error = None, raised
            loop.call_soon_threadsafe(_settle, result, outcome, error)
            loop.call_soon_threadsafe(self._is_free.set)

        self._start()
        self._subjects.put(work)
        return await result

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (work := self._subjects.get()) is not None:
            try:
                work()
            except RuntimeError:
                return  # the event loop has been closed: nobody is there to be told

    def close(self) -> None:
        self._subjects.put(None)


def _settle(result: asyncio.Future[Any], outcome: Any, error: BaseException | None) -> None:
    if result.done():
        return
    if error is None:
        result.set_result(outcome)
    elif isinstance(error, StopIteration):  # which no future can carry
        result.set_exception(RuntimeError(f"The handler raised {error!r}."))
    else:
        result.set_exception(error)


class Runners(Generic[Subject]):
    """As many as are needed at once; those that have run before run again."""

    def __init__(self, handler: Handler[Subject], name: str) -> None:
        self._handler = handler
        self._name = name
        self._idle: list[Runner[Subject]] = []

    def take(self) -> Runner[Subject]:
        if self._idle:
            return self._idle.pop()
        return Awaited(self._handler) if is_asynchronous(self._handler) else InThread(self._handler, self._name)

    def put_back(self, runner: Runner[Subject]) -> None:
        self._idle.append(runner)

    def close(self) -> None:
        for runner in self._idle:
            runner.close()
