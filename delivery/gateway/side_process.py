"""A process beside the broker's, for work that would keep its interpreter or its core to itself."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # whether the broker still runs
FRESH = multiprocessing.get_context("spawn")  # an interpreter: a fork would have the broker's memory and sockets

Result = TypeVar("Result")


class SideProcess:
    """One process, made when first needed. If it is killed, work is done here, and what follows gets a new one."""

    def __init__(self, purpose: str, *, niceness: int = 0) -> None:
        self._purpose = purpose
        self._niceness = niceness
        self._pool: ProcessPoolExecutor | None = None
        self._making = threading.Lock()

    def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """For threads: it waits for the result."""
        try:
            return self._started().submit(work, *arguments).result()
        except BrokenProcessPool:
            logger.warning("The process that %s has ended. Another one will be started.", self._purpose)
            self._pool = None
            return work(*arguments)

    def _started(self) -> ProcessPoolExecutor:
        with self._making:
            if self._pool is None:
                pool = ProcessPoolExecutor(1, FRESH, initializer=_begin_beside, initargs=(os.getpid(), self._niceness))
                pool.submit(_begun).result()
                self._pool = pool
            return self._pool


def _begun() -> None:
    """Returns when the process is there."""


def _begin_beside(broker: int, niceness: int) -> None:
    """What such a process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the broker decides when to stop
    os.nice(niceness)
    threading.Thread(target=_end_with, args=(broker,), daemon=True).start()


def _end_with(broker: int) -> None:
    while os.getppid() == broker:
        time.sleep(LOOK_SECONDS)
    os._exit(0)
