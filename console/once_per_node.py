"""Readings that everybody who looks at this node shares: made at most every so often, and by one reader at a time."""

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Result = TypeVar("Result")

PATIENCE = 20  # a reading that took a second is good for twenty: reading never takes more than a twentieth of the time


def once_per_node(seconds: float) -> Callable[[Callable[[], Result]], Callable[[], Result]]:
    """The function's last result for so many seconds, or longer if making it is slow."""

    def decorate(read: Callable[[], Result]) -> Callable[[], Result]:
        lock = threading.Lock()
        kept: list[Result] = []
        until = 0.0

        @wraps(read)
        def shared() -> Result:
            nonlocal until
            with lock:  # whoever comes while it is being read waits for it, and does not read as well
                started = time.monotonic()
                if not kept or started >= until:
                    kept[:] = [read()]
                    finished = time.monotonic()
                    until = finished + max(seconds, (finished - started) * PATIENCE)
                return kept[0]

        def forget() -> None:
            """For whoever has just changed something, and wants to see it."""
            nonlocal until
            until = 0.0

        shared.forget = forget  # type: ignore[attr-defined]
        return shared

    return decorate
