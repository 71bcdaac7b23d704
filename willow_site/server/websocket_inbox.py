"""What a client has sent and the application has not yet taken.

Daphne's own queue has no bound: a client that sends faster than its commands are handled would fill the
memory. Here a full inbox stops the reading from the socket, and TCP makes the client wait.
"""

import asyncio
from typing import Any, Protocol

from willow_site.server.incoming_messages import IncomingMessages

FULL_FRAMES = 256
FULL_BYTES = 8 * 1024 * 1024
ROOMY_FRAMES = FULL_FRAMES // 2
ROOMY_BYTES = FULL_BYTES // 2

TOO_MUCH = "Too much came in, and most of it from you."

Event = dict[str, Any]


class Receiver(Protocol):
    """Where it comes in."""

    def inbox_is_full(self) -> None: ...

    def inbox_is_roomy(self) -> None: ...

    def give_up(self, reason: str) -> None:
        """End the connection, and keep nothing of what is coming in."""


class Inbox(asyncio.Queue[Event]):
    """A queue that never refuses, but says when it is full and when there is room again."""

    def __init__(self, receiver: Receiver, incoming: IncomingMessages) -> None:
        super().__init__()
        self._receiver = receiver
        self._incoming = incoming
        self._bytes = 0
        self.part_bytes = 0  # of a message that is not whole
        self._is_full = False
        self._is_over = False
        incoming.came(self)

    @property
    def size(self) -> int:
        return self._bytes + self.part_bytes

    def part_grew(self, size: int) -> None:
        if not self._is_over:
            self.part_bytes += size
            self._incoming.grew(size)

    def part_ended(self) -> None:
        """It is whole now, or thrown away."""
        self._incoming.shrank(self.part_bytes)
        self.part_bytes = 0

    def _put(self, event: Event) -> None:
        size = _size(event)
        if self._is_over and size:
            return
        super()._put(event)
        self._bytes += size
        if not self._is_full and (self.qsize() >= FULL_FRAMES or self._bytes >= FULL_BYTES):
            self._is_full = True
            self._receiver.inbox_is_full()
        self._incoming.grew(size)

    def _get(self) -> Event:
        event = super()._get()
        size = _size(event)
        self._bytes -= size
        self._incoming.shrank(size)
        if self._is_full and not self._is_over and self.qsize() <= ROOMY_FRAMES and self._bytes <= ROOMY_BYTES:
            self._is_full = False
            self._receiver.inbox_is_roomy()
        return event

    def give_up(self, reason: str = TOO_MUCH) -> None:
        self.end()
        self._receiver.give_up(reason)

    def end(self) -> None:
        """Keep nothing of what has come, but the end of the connection."""
        self._is_over = True
        self._incoming.went(self)
        self.part_ended()
        for event in [self.get_nowait() for _ in range(self.qsize())]:
            if not _size(event):
                self.put_nowait(event)


def _size(event: Event) -> int:
    if "pieces" in event:
        return sum(map(len, event["pieces"]))
    return len(event.get("bytes") or event.get("text") or "")
