"""What clients have not read yet of what they were sent: in bytes, of each connection and of all of this process."""

from typing import Protocol

from delivery.protocol.frames import Frame
from delivery.protocol.variants import BODY_FIELDS

FRAME_BYTES = 512  # of a frame in memory, its body aside


def bytes_of(frame: Frame) -> int:
    """What a frame takes in memory, roughly."""
    field = BODY_FIELDS.get(type(frame))
    body = getattr(frame, field) if field else None
    return FRAME_BYTES + len(body) if body else FRAME_BYTES


class Unread(Protocol):
    """The frames that wait for one client."""

    @property
    def bytes(self) -> int: ...

    def give_up(self) -> None:
        """Close its socket, and keep none of them."""


class UnreadAnswers:
    """Of all connections of this process. When they are too many, the connection with the most is given up."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self.given_up = 0  # connections, since the start
        self._most_bytes = most_bytes
        self._crowded: set[Unread] = set()

    def __len__(self) -> int:
        """Connections from which nothing is read until their clients have read."""
        return len(self._crowded)

    def crowded(self, unread: Unread) -> None:
        """It has more than a connection should have. If all together have too much, the largest goes."""
        self._crowded.add(unread)
        while self.bytes > self._most_bytes and self._crowded:
            max(self._crowded, key=lambda one: one.bytes).give_up()

    def roomy(self, unread: Unread) -> None:
        self._crowded.discard(unread)
