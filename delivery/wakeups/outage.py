"""Whether Redis can be used, said once when it is gone and once when it is back."""

import logging

logger = logging.getLogger(__name__)


class Outage:
    """One for each process: several parts of it notice the same."""

    def __init__(self) -> None:
        self.lasts = False

    def noticed(self, error: BaseException) -> None:
        if not self.lasts:
            self.lasts = True
            logger.warning("Redis cannot be used, so messages may arrive up to a poll interval later: %s", error)

    def ended(self) -> None:
        if self.lasts:
            self.lasts = False
            logger.warning("Redis can be used again.")


redis_outage = Outage()
