"""What the subscriptions, fetches and pops of one connection make the node keep."""

from collections.abc import Iterable

from django.conf import settings

from delivery.protocol.errors import Code, WillowError

MOST_TERMS_BYTES = 2 * 1024 * 1024  # of one connection; in memory they take up to four times as much
TAG_BYTES = 64  # that a tag costs beside its characters


def terms_size(name: str, tags: Iterable[str]) -> int:
    """Of what says which queues are read, in bytes."""
    return len(name) + sum(len(tag) + TAG_BYTES for tag in tags)


def several(queues: int) -> int:
    """As how many a fetch or pop counts. Those of a single queue are bounded by their number."""
    return queues if queues > 1 else 0


class Readings:
    """Queues count as often as something reads them."""

    def __init__(self) -> None:
        self.subscribed = 0  # queues of subscriptions
        self.waited_for = 0  # queues of fetches and pops
        self.terms_bytes = 0

    def refusal(self, queues: int, terms_bytes: int = 0) -> WillowError | None:
        """Why so much more is too much, if it is."""
        most = settings.WILLOW.connection_readings
        if queues and self.subscribed + self.waited_for + queues > most:
            reason = f"One connection may read {most} queues, each counted as often as it is read; these would be more."
            return WillowError(Code.OVERLOADED, "readings", reason)
        if terms_bytes and self.terms_bytes + terms_bytes > MOST_TERMS_BYTES:
            reason = f"The names and tags that this connection reads by may have {MOST_TERMS_BYTES} bytes together."
            return WillowError(Code.OVERLOADED, "tags", reason)
        return None
