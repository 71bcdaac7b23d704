"""Threads that call one blocking function after the other, and tell the event loop of several ends at once.

A thread that wakes the loop for each end, and is woken for each call, costs more than a short task. So all threads take
from one queue: whichever runs takes the next call without being woken for it.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from django.db import connections


class Call:
    """`claimed`: by a thread that begins it, or by who gives it up before that."""

    __slots__ = ("answer", "claimed", "context", "function", "has_returned", "is_given_up")

    def __init__(self, function: Callable[[], Any], answer: "asyncio.Future[Any]", context: Context) -> None:
        self.function = function
        self.answer = answer
        self.context = context
        self.claimed = threading.Lock()
        self.is_given_up = False
        self.has_returned = False

    def run(self) -> tuple[Any, BaseException | None]:
        try:
            return self.context.run(self.function), None
        except BaseException as error:
            return None, error
        finally:
            self.has_returned = True


class TaskThreads:
    """As many as are needed at once. They end with the process, whatever runs in them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ends: list[tuple[Call, Any, BaseException | None]] = []  # the first one wakes the loop
        self._under_way = 0  # calls
        self._threads = 0  # without those that still run what was given up
        self._left: list[Call] = []  # that were given up, and had not returned when another one was

    async def run(self, function: Callable[[], Any]) -> Any:
        """What it returns. If this is cancelled, the function goes on in its thread, which is not used again."""
        loop = asyncio.get_running_loop()
        call = Call(function, loop.create_future(), copy_context())
        self._under_way += 1
        if self._threads < self._under_way:
            self._threads += 1
            threading.Thread(target=self._work, args=(loop,), name=self._name, daemon=True).start()
        self._calls.put(call)
        try:
            return await call.answer
        except asyncio.CancelledError:
            if call.answer.cancelled():
                self._give_up(call)
            raise

    def _give_up(self, call: Call) -> None:
        call.is_given_up = True
        self._under_way -= 1
        if not call.claimed.acquire(blocking=False):
            self._threads -= 1  # this one runs it
            self._left = [*self._calls_left(), call]

    def _calls_left(self) -> list[Call]:
        return [call for call in self._left if not call.has_returned]

    @property
    def given_up(self) -> int:
        """Calls that were given up, and go on."""
        return len(self._calls_left())

    def close(self) -> None:
        for _ in range(self._threads):
            self._calls.put(None)

    # in the threads

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._take_calls(loop)
        finally:
            connections.close_all()  # this thread's

    def _take_calls(self, loop: asyncio.AbstractEventLoop) -> None:
        while (call := self._calls.get()) is not None:
            if not call.claimed.acquire(blocking=False):
                continue
            outcome, error = call.run()
            if call.is_given_up:
                return
            if not self._ended(loop, call, outcome, error):
                return

    def _ended(self, loop: asyncio.AbstractEventLoop, call: Call, outcome: Any, error: BaseException | None) -> bool:
        """Returns False if the loop has been closed: nobody is there to be told."""
        with self._lock:
            self._ends.append((call, outcome, error))
            is_first = len(self._ends) == 1
        try:
            if is_first:
                loop.call_soon_threadsafe(self._tell_ends)
        except RuntimeError:
            return False
        return True

    # in the loop

    def _tell_ends(self) -> None:
        with self._lock:
            ends, self._ends = self._ends, []
        for call, outcome, error in ends:
            if call.answer.done():  # given up after all: its thread goes on nevertheless
                self._threads += 1
                continue
            self._under_way -= 1
            if error is None:
                call.answer.set_result(outcome)
            elif isinstance(error, StopIteration):  # which no future can carry
                call.answer.set_exception(RuntimeError(f"The task raised {error!r}."))
            else:
                call.answer.set_exception(error)
