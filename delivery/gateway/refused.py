"""A line in the log for connections that are not let in, however many try."""

import logging
import time

LINES = 20  # a minute at most; what comes above that is counted, and told with the next line
SECONDS = 60.0
NO_KEY = "it came without a key"
BAD_KEY = "it came with a key that is not valid"

logger = logging.getLogger(__name__)


class RefusedConnections:
    """Who was refused, and why; never a key."""

    def __init__(self) -> None:
        self._since = -SECONDS
        self._lines = 0
        self._untold = 0

    def add(self, address: str, why: str) -> None:
        now = time.monotonic()
        if now - self._since >= SECONDS:
            self._since, self._lines = now, 0
        if self._lines >= LINES:
            self._untold += 1
            return
        self._lines += 1
        untold, self._untold = self._untold, 0
        more = f" {untold} others were refused and not told of one by one." if untold else ""
        logger.warning("Refused a connection from %s: %s.%s", address, why, more, extra={"address": address})
