"""What has come in over all WebSockets of this process and was not taken yet: how much memory it takes."""

from typing import Protocol

from django.conf import settings

from delivery.storage.meters import Incoming

MOST_WHOLE_ONES = 4  # of the largest messages that there may be


class Sent(Protocol):
    """What one connection has sent."""

    @property
    def size(self) -> int:
        """In bytes, with the part that has come of a message."""

    def give_up(self) -> None:
        """End the connection, and keep nothing of it."""


class IncomingMessages:
    """When they are too much, the connection that has sent the most is given up."""

    def __init__(self, meter: Incoming) -> None:
        self._meter = meter
        self._most_bytes = MOST_WHOLE_ONES * settings.WILLOW.max_frame_bytes
        self._all: set[Sent] = set()

    def came(self, sent: Sent) -> None:
        self._all.add(sent)

    def went(self, sent: Sent) -> None:
        self._all.discard(sent)

    def grew(self, size: int) -> None:
        self._meter.bytes += size
        while self._meter.bytes > self._most_bytes:
            largest = max(self._all, key=lambda sent: sent.size)
            self._meter.given_up += 1
            largest.give_up()

    def shrank(self, size: int) -> None:
        self._meter.bytes -= size
