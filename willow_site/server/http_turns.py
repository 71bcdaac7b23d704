"""Requests over HTTP take turns with the frames of WebSockets.

A request costs the event loop as much as dozens of messages, and they may come by hundreds at once, each with a body
that goes on and on. While clients with WebSockets are active, requests are begun one by one with pauses between them,
in the order in which they came, and so is each part of a body. A client that wants to become a WebSocket goes first: it
is one request for as long as it stays.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from delivery.gateway.loop_share import LoopShare

PAUSE_PER_BUSY = 3.0  # reading a request is the smaller half of what the loop has to do for it
FOR_NOTHING_SECONDS = 0.001  # that a request counts more which was only told to come again later
MOST_PAUSE_SECONDS = 0.05  # all requests wait for it, whoever sent what it is for
UPGRADE = b"upgrade: websocket"
HEAD_BYTES = 2048  # in which it is looked for

Work = Callable[[], None]


def wants_websocket(data: bytes) -> bool:
    return UPGRADE in data[:HEAD_BYTES].lower()


class HttpTurns:
    def __init__(self) -> None:
        self._share = LoopShare()  # of all of them together
        self._heads: deque[Work] = deque()  # the beginnings of requests, which go before
        self._bodies: deque[Work] = deque()  # the parts of bodies
        self._is_pausing = False

    def must_wait(self) -> bool:
        return self._is_pausing or bool(self._heads or self._bodies)

    def wait(self, work: Work, *, is_body: bool = False) -> None:
        (self._bodies if is_body else self._heads).append(work)

    def begin(self, work: Work) -> None:
        began = time.perf_counter()
        try:
            work()
        finally:  # whatever became of it, the others go on
            self._go_on_after(time.perf_counter() - began)

    def was_for_nothing(self) -> None:
        """Whoever is refused at once would have the next turn as soon as one who had to wait for an answer."""
        self._share.was_busy(FOR_NOTHING_SECONDS)

    def _go_on_after(self, busy_seconds: float) -> None:
        pause = self._share.pause_after(PAUSE_PER_BUSY * busy_seconds)
        if self._is_pausing:
            return
        if pause:
            self._is_pausing = True
            asyncio.get_running_loop().call_later(min(pause, MOST_PAUSE_SECONDS), self._go_on)
        elif self._heads or self._bodies:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_pausing = False
        if waiting := self._heads or self._bodies:
            self.begin(waiting.popleft())
