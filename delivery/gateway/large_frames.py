"""Large frames of JSON are decoded in a process of their own: no other client waits for that.

A frame of 32 MB takes up to a second, during which a thread would keep the interpreter to itself. Commands come back as
they would from the codec.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from delivery.protocol import json
from delivery.protocol.commands import Command
from delivery.protocol.errors import FrameError
from delivery.protocol.limits import Limits

logger = logging.getLogger(__name__)

LARGE_BYTES = 1024 * 1024  # below that, a frame takes less than it takes to send it to another process and back
LOOK_SECONDS = 1.0  # whether the broker still runs


class LargeFrames:
    """One process, made when it is first needed."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._making = asyncio.Lock()

    async def decode(self, text: str, limits: Limits) -> list[Command | FrameError]:
        pool = await self._started()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, json.decode, text, limits)
        except BrokenProcessPool:
            logger.warning("The process that decodes large frames has ended. The next large frame starts another one.")
            self._pool = None
            return json.decode(text, limits)

    async def _started(self) -> ProcessPoolExecutor:
        async with self._making:
            if self._pool is None:
                self._pool = await asyncio.to_thread(_make_pool)
            return self._pool


def _make_pool() -> ProcessPoolExecutor:
    # A fresh interpreter: a fork would have the broker's memory and sockets.
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare, initargs=(os.getpid(),))
    pool.submit(_prepare_nothing).result()
    return pool


def _prepare(broker: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the broker decides when to stop
    threading.Thread(target=_end_with, args=(broker,), daemon=True).start()


def _prepare_nothing() -> None:
    """Returns when the process is there."""


def _end_with(broker: int) -> None:
    while os.getppid() == broker:
        time.sleep(LOOK_SECONDS)
    os._exit(0)
