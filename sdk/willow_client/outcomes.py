"""What a handler raises to say how its failure is to be taken. Any other exception is a failed attempt."""

from willow_client.arguments import check_seconds
from willow_client.errors import LONGEST_ERROR


class Outcome(Exception):
    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)

    @property
    def told(self) -> str:
        return (str(self) or type(self).__name__)[:LONGEST_ERROR]


class Retry(Outcome):
    """Try again, after `delay` seconds or as the queue's backoff says. The attempt counts."""

    def __init__(self, reason: str = "", *, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = check_seconds("delay", delay)


class GiveUp(Outcome):
    """It makes no sense to try again: the message goes to the dead letter queue now."""
