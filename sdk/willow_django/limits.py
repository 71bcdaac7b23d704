"""A limit that a task can notice: an exception is raised in it when its time is over, and it may clean up."""

import asyncio
import ctypes
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class SoftTimeLimitExceeded(Exception):
    """The task has run for longer than the worker's --soft-time-limit."""


@contextmanager
def soft_limit(seconds: float | None) -> Iterator[None]:
    """For blocking tasks. What waits outside of Python, as for a socket, hears of it when it comes back."""
    if seconds is None:
        yield
        return
    thread = threading.get_ident()
    timer = threading.Timer(seconds, _raise_in, (thread,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SoftTimeLimitExceeded))


@asynccontextmanager
async def async_soft_limit(seconds: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise SoftTimeLimitExceeded(f"The task ran for more than {seconds:g} seconds.") from None
        raise
