"""The event loop behind the blocking client: one thread in each process, started when it is first needed."""

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from willow_client.called import Called
from willow_client.errors import WillowError
from willow_client.forking import after_fork

Result = TypeVar("Result")


class Background:
    """A process that was forked starts one of its own. That of its parent is left alone: it is not ours to close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._called: list[Called[Any]] = []  # that are to begin
        self._left_behind: list[object] = []  # never freed: its end would be heard by the parent's loop
        after_fork(self._forked)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="willow client", daemon=True).start()
            return self._loop

    def leave_behind(self, thing: object) -> None:
        self._left_behind.append(thing)

    def _forked(self) -> None:
        self.leave_behind(self._loop)
        self._lock = threading.Lock()
        self._called = []
        self._loop = None

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for it, in the caller's thread."""
        self._check_thread(work)
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, work: Coroutine[Any, Any, Result], flush: Callable[[], None]) -> Result:
        """The same for what only awaits answers of the broker, at a fraction of the price: see `Called`."""
        self._check_thread(work)
        loop = self.loop
        called = Called(work, flush)
        with self._lock:
            self._called.append(called)
            is_first = len(self._called) == 1
        if is_first:  # otherwise the loop has been woken already
            loop.call_soon_threadsafe(self._begin_called)
        return called.wait(loop)

    def _begin_called(self) -> None:
        """What several threads say at the same time is sent together."""
        with self._lock:
            begun, self._called = self._called, []
        for called in begun:
            called.begin()
        for called in begun:
            called.flush()

    def _check_thread(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        if running is self._loop:
            work.close()
            reason = "A call of the blocking client in its own event loop would wait for itself."
            raise WillowError("BadRequest", "loop", f"{reason} Call it in a thread, or use the asynchronous client.")
        remedy = "Use willow_client.connect and await, or call it in a thread."
        warnings.warn(f"A call of the blocking client holds up this event loop. {remedy}", RuntimeWarning, stacklevel=5)


background = Background()
