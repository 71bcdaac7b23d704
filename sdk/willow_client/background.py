"""The event loop behind the blocking client: one thread in each process, started when it is first needed."""

import asyncio
import threading
import warnings
from collections.abc import Coroutine
from typing import Any, TypeVar

from willow_client.errors import WillowError
from willow_client.forking import after_fork
from willow_client.threads import runs_here

Result = TypeVar("Result")


class Background:
    """A process that was forked starts one of its own. That of its parent is left alone: it is not ours to close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
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
        self._loop = None

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for it, in the caller's thread."""
        if runs_here(self._loop):
            work.close()
            reason = "A call of the blocking client in its own event loop would wait for itself."
            raise WillowError("BadRequest", "loop", f"{reason} Call it in a thread, or use the asynchronous client.")
        _warn_of_blocking()
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _warn_of_blocking() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    remedy = "Use willow_client.connect and await, or call it in a thread."
    warnings.warn(f"A call of the blocking client holds up this event loop. {remedy}", RuntimeWarning, stacklevel=5)


background = Background()
