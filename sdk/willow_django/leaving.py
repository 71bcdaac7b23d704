"""The end of a worker's process, whatever tasks have left in it."""

import asyncio
import concurrent.futures.thread
import logging
import os
import sys
import threading
from collections.abc import Collection
from contextlib import suppress

logger = logging.getLogger("willow_django")

# Threads of pools, for which Python waits at its end. It has no public word for them, and later versions may have none.
POOLED: Collection[threading.Thread] = getattr(concurrent.futures.thread, "_threads_queues", ())
KEPT_SECONDS = 5.0  # that threads and tasks have, of which the worker knows nothing


def leave(status: int) -> None:
    """Now, without what Python waits for at its end."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(status)


def leave_if_kept(status: int, threads_before: Collection[threading.Thread]) -> None:
    """A moment later. Tasks may have begun threads, for which Python waits, and tasks of asyncio's.

    For those of pools it waits also if they are daemons, as all are that a daemon begins.
    """
    since = [one for one in threading.enumerate() if one not in threads_before]
    threads = [one for one in since if not one.daemon or one in POOLED]
    tasks = asyncio.all_tasks() - {asyncio.current_task()}

    def look() -> None:
        if any(thread.is_alive() for thread in threads) or not all(task.done() for task in tasks):
            logger.warning("What tasks have left behind does not end: the worker ends without it")
            leave(status)

    timer = threading.Timer(KEPT_SECONDS, look)
    timer.daemon = True
    timer.start()
