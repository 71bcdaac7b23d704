"""Readings shared by all who use the console on this node: made at most every few seconds, by one thread at a time."""

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Result = TypeVar("Result")

PATIENCE = 20  # a reading that took a second is good for twenty: reading never takes more than a twentieth of the time


def once_per_node(seconds: float) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    """Caches the function's result for so many seconds, or longer if it is slow."""

    def decorate(read: Callable[[], Result]) -> Callable[[], Result]:
        lock = threading.Lock()
        kept: list[Result] = []
        until = 0.0

        @wraps(read)
        def shared() -> Result:
            nonlocal until
            with lock:  # others wait for a read that is under way instead of reading too
                started = time.monotonic()
                if not kept or started >= until:
                    kept[:] = [read()]
                    finished = time.monotonic()
                    until = finished + max(seconds, (finished - started) * PATIENCE)
                return kept[0]

        def forget() -> None:
            """Makes the next call read again, for somebody who has just changed something."""
            nonlocal until
            until = 0.0

        shared.forget = forget  # type: ignore[attr-defined]
        return shared

    return decorate
