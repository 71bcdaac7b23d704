"""A few lines in the log for those who are not let in or ask for what is not there, however many try."""

import logging
import time
from collections.abc import Callable

LINES = 20  # a minute at most; what comes above that is counted, and told with the next line
SECONDS = 60.0
NO_KEY = "it came without a key"
BAD_KEY = "it came with a key that is not valid"

logger = logging.getLogger(__name__)


class FewLines:
    """About one matter, of which anybody can cause any number."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = -SECONDS
        self._lines = 0
        self._untold = 0

    def next(self) -> int | None:
        """How many were not told before this one; None if it is not told either."""
        now = self._clock()
        if now - self._since >= SECONDS:
            self._since, self._lines = now, 0
        if self._lines >= LINES:
            self._untold += 1
            return None
        self._lines += 1
        untold, self._untold = self._untold, 0
        return untold


class RefusedConnections:
    """Who was refused, and why; never a key."""

    def __init__(self) -> None:
        self._lines = FewLines()

    def add(self, address: str, why: str) -> None:
        if (untold := self._lines.next()) is None:
            return
        more = f" {untold} others were refused and not told of one by one." if untold else ""
        logger.warning("Refused a connection from %s: %s.%s", address, why, more, extra={"address": address})
