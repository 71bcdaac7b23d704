"""Connections that were reset while something of theirs was still to be read: a killed client leaves them behind.

uvloop gives up such a socket without a word to whoever reads from it (it closes its handle where it finds an error
beside the data). The broker would take the client for alive, and keep its claims, until a ping went unanswered. So the
kernel is asked a second time, by an epoll that looks for nothing but errors.
"""

import asyncio
import logging
import select
from collections.abc import Callable

logger = logging.getLogger(__name__)

ERRORS_ALONE = getattr(select, "EPOLLET", 0)  # they are always reported; this says: once


class BrokenSockets:
    """Tells those who watch a socket that it is broken. Without epoll (macOS) it tells nobody."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._tell: dict[int, Callable[[], None]] = {}  # by file number
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        if self._epoll is not None:
            loop.add_reader(self._epoll.fileno(), self._look)

    def watch(self, number: int, tell: Callable[[], None]) -> None:
        self._tell[number] = tell
        if self._epoll is not None:
            self._epoll.register(number, ERRORS_ALONE)

    def forget(self, number: int) -> None:
        """The socket is closed, with which the kernel has forgotten it, too."""
        self._tell.pop(number, None)

    def _look(self) -> None:
        assert self._epoll is not None
        for number, _ in self._epoll.poll(0):
            if (tell := self._tell.get(number)) is not None:
                try:
                    tell()
                except Exception:  # the others are told of once only
                    logger.exception("A broken socket could not be given up")
