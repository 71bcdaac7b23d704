"""The commands of one connection that the broker still has to answer, and the one way to answer them."""

import asyncio
import logging
from typing import Protocol

from delivery.protocol.errors import WillowError
from delivery.protocol.frames import Frame

logger = logging.getLogger(__name__)


class UnderWay:
    """How many commands will be answered without the client's help, and the bytes that they bring.

    A fetch counts until its queues are found: one that waits for a message waits for others.
    """

    def __init__(self) -> None:
        self.count = 0
        self.bytes = 0
        self._fewer = asyncio.Event()

    def began(self, size: int = 0) -> None:
        self.count += 1
        self.bytes += size

    def ended(self, size: int = 0) -> None:
        self.count -= 1
        self.bytes -= size
        self._fewer.set()

    async def wait_below(self, most: int, most_bytes: int) -> None:
        while self.count >= most or self.bytes >= most_bytes:
            self._fewer.clear()
            await self._fewer.wait()


class Answering(Protocol):
    """What a reply needs of its session."""

    @property
    def under_way(self) -> UnderWay: ...

    def send(self, frame: Frame) -> None: ...

    def refuse(self, label: int | None, error: WillowError) -> None: ...

    def let_go_of(self, size: int) -> None:
        """So many bytes of a command are kept no longer."""


class Reply:
    """The reply to one command. The command is under way until it is sent, refused or ended, whichever it is."""

    __slots__ = ("_answering", "_ended", "_label", "_size")

    def __init__(self, answering: Answering, label: int | None, size: int = 0) -> None:
        self._answering = answering
        self._label = label
        self._size = size
        self._ended = False
        answering.under_way.began(size)

    def send(self, frame: Frame) -> None:
        self.end()
        self._answering.send(frame)

    def refuse(self, error: WillowError) -> None:
        self.end()
        self._answering.refuse(self._label, error)

    def end(self) -> None:
        """The command needs no answer, or its answer is sent in another way."""
        if self._ended:
            logger.error("A command was answered twice", stack_info=True, extra={"label": self._label})
            return
        self._ended = True
        self._answering.under_way.ended(self._size)
        if self._size:
            self._answering.let_go_of(self._size)
