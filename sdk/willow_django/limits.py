"""How long a task may run. At the soft limit it may still clean up; the hard one it cannot do anything about."""

import asyncio
import ctypes
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class SoftTimeLimitExceeded(Exception):
    """The task has run for longer than the worker's --soft-time-limit."""


class TimeLimitExceeded(Exception):
    """The task has run for longer than the worker's --time-limit."""


@asynccontextmanager
async def limit(seconds: float | None, exceeded: type[Exception]) -> AsyncIterator[None]:
    """For what is awaited: it is cancelled, and this is raised."""
    try:
        async with asyncio.timeout(seconds) as timeout:
            yield
    except TimeoutError:
        if timeout.expired():
            raise exceeded(passed(seconds)) from None
        raise


def passed(seconds: float | None) -> str:
    return f"The task ran for more than {seconds:g} seconds."


@contextmanager
def soft_limit(seconds: float | None) -> Iterator[None]:
    """For blocking tasks. What waits outside of Python, as for a socket, hears of it when it comes back."""
    if seconds is None:
        yield
        return
    interruption = Interruption(threading.get_ident())
    timer = threading.Timer(seconds, interruption.come)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        interruption.end()


class Interruption:
    """Comes to a thread from outside, or not at all: a thread that has gone on to something else is left alone."""

    def __init__(self, thread: int) -> None:
        self._thread = ctypes.c_ulong(thread)
        self._lock = threading.Lock()
        self._is_over = False

    def come(self) -> None:
        with self._lock:
            if not self._is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, ctypes.py_object(SoftTimeLimitExceeded))

    def end(self) -> None:
        """In the thread itself. What has come and was not raised yet is taken back."""
        with self._lock:
            self._is_over = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, None)
