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

PAUSE_PER_BUSY = 6.0  # reading a request is the smaller half of what the loop has to do for it
UPGRADE = b"upgrade: websocket"
HEAD_BYTES = 2048  # in which it is looked for

Work = Callable[[], None]


def wants_websocket(data: bytes) -> bool:
    return UPGRADE in data[:HEAD_BYTES].lower()


class HttpTurns:
    def __init__(self) -> None:
        self._share = LoopShare()  # of all of them together
        self._waiting: deque[Work] = deque()
        self._is_pausing = False

    def must_wait(self) -> bool:
        return self._is_pausing or bool(self._waiting)

    def wait(self, work: Work) -> None:
        self._waiting.append(work)

    def begin(self, work: Work) -> None:
        began = time.perf_counter()
        work()
        pause = self._share.pause_after(PAUSE_PER_BUSY * (time.perf_counter() - began))
        if pause and not self._is_pausing:
            self._is_pausing = True
            asyncio.get_running_loop().call_later(pause, self._go_on)
        elif self._waiting and not self._is_pausing:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_pausing = False
        if self._waiting:
            self.begin(self._waiting.popleft())
