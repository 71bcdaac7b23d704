"""SIGTERM and SIGINT ask a worker to stop in good order; a second one, at once."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals() -> Iterator[asyncio.Queue[int]]:
    """Signals to stop, as they come. Elsewhere than in the main thread there are none."""
    signals: asyncio.Queue[int] = asyncio.Queue()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        loop.add_signal_handler(number, signals.put_nowait, number)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def until_stopped(over: asyncio.Future[Any]) -> None:
    """Until a signal to stop comes, or `over` is done, whose exception is raised."""
    with stop_signals() as signals:
        stopped = asyncio.ensure_future(signals.get())
        try:
            await asyncio.wait((stopped, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
    if over.done():
        over.result()
