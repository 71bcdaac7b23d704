"""What a handler raises to say how its failure is to be taken. Any other exception is a failed attempt."""

from willow_client.arguments import check_seconds
from willow_client.errors import as_told


class Outcome(Exception):
    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)

    @property
    def told(self) -> str:
        return as_told(str(self) or type(self).__name__)


class Retry(Outcome):
    """Try again, after `delay` seconds or as the queue's backoff says. The attempt counts."""

    def __init__(self, reason: str = "", *, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = check_seconds("delay", delay)


class GiveUp(Outcome):
    """It makes no sense to try again: the message goes to the dead letter queue now."""


class GiveBack(Outcome):
    """Not now, and not here: the message goes back to its queue as if it had not been handed out."""
