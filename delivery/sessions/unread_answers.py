"""What clients have not read yet of what they were sent: in bytes, of each connection and of all of this process."""

from typing import Protocol

ENOUGH_SIXTEENTHS = 15  # of the bound: to which room is made, so that there is none to be made with every frame


class Unread(Protocol):
    """What waits for one client."""

    @property
    def size(self) -> int:
        """In bytes, when it was last looked at."""

    def look_again(self) -> None:
        """Count what the client has not taken by now, here and in the sum of all."""

    def give_up(self) -> None:
        """End its connection, and keep nothing of it."""


class UnreadAnswers:
    """Of all connections of this process. When they are too much, the connections with the most are given up."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self.most_bytes = most_bytes
        self.given_up = 0  # connections, since the start
        self.crowded: set[Unread] = set()  # from which nothing is read until their clients have read
        self._all: set[Unread] = set()

    def came(self, unread: Unread) -> None:
        self._all.add(unread)

    def went(self, unread: Unread) -> None:
        self._all.discard(unread)

    def grew(self, size: int) -> None:
        """Or became less, by a size below zero."""
        self.bytes += size
        if self.bytes > self.most_bytes:
            self.make_room()

    def look_again(self) -> None:
        """What the system has taken from a socket since it was last looked at is no longer kept here."""
        for unread in self._all:
            unread.look_again()

    def make_room(self) -> None:
        """There is none."""
        self.look_again()
        enough = self.most_bytes * ENOUGH_SIXTEENTHS // 16
        if self.bytes <= enough:
            return
        for unread in sorted(self._all, key=lambda one: one.size, reverse=True):
            if self.bytes <= enough:
                return
            unread.give_up()
