"""Messages of which a part has come: how much memory they take, in all WebSockets of this process."""

from typing import Protocol

from django.conf import settings

from delivery.storage.meters import Incoming

MOST_WHOLE_ONES = 8  # of the largest messages that there may be


class Sender(Protocol):
    def give_up(self) -> None:
        """End the connection, and keep nothing of what it has sent."""


class PartMessages:
    """When they are too much, the connection that has sent the most of one is given up."""

    def __init__(self, meter: Incoming) -> None:
        self._meter = meter
        self._bytes: dict[Sender, int] = {}

    @property
    def most_bytes(self) -> int:
        return MOST_WHOLE_ONES * int(settings.WILLOW.max_frame_bytes)

    def grew(self, sender: Sender, size: int) -> None:
        self._bytes[sender] = self._bytes.get(sender, 0) + size
        self._meter.part_bytes += size
        while self._meter.part_bytes > self.most_bytes:
            largest = max(self._bytes, key=self._bytes.__getitem__)
            self.ended(largest)
            self._meter.given_up += 1
            largest.give_up()

    def ended(self, sender: Sender) -> None:
        """It is whole now, or thrown away."""
        self._meter.part_bytes -= self._bytes.pop(sender, 0)
