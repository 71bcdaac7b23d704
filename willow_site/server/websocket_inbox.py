"""What a client has sent and the application has not yet taken.

Daphne's own queue has no bound: a client that sends faster than its commands are handled would fill the
memory. Here a full inbox stops the reading from the socket, and TCP makes the client wait.
"""

import asyncio
from collections.abc import Callable
from typing import Any

FULL_FRAMES = 256
FULL_BYTES = 8 * 1024 * 1024
ROOMY_FRAMES = FULL_FRAMES // 2
ROOMY_BYTES = FULL_BYTES // 2

Event = dict[str, Any]


class Inbox(asyncio.Queue[Event]):
    """A queue that never refuses, but says when it is full and when there is room again."""

    def __init__(self, *, when_full: Callable[[], None], when_roomy: Callable[[], None]) -> None:
        super().__init__()
        self._when_full = when_full
        self._when_roomy = when_roomy
        self._bytes = 0
        self._is_full = False

    def _put(self, event: Event) -> None:
        super()._put(event)
        self._bytes += _size(event)
        if not self._is_full and (self.qsize() >= FULL_FRAMES or self._bytes >= FULL_BYTES):
            self._is_full = True
            self._when_full()

    def _get(self) -> Event:
        event = super()._get()
        self._bytes -= _size(event)
        if self._is_full and self.qsize() <= ROOMY_FRAMES and self._bytes <= ROOMY_BYTES:
            self._is_full = False
            self._when_roomy()
        return event


def _size(event: Event) -> int:
    if "pieces" in event:
        return sum(map(len, event["pieces"]))
    return len(event.get("bytes") or event.get("text") or "")
