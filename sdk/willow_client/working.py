"""Work on one message: kept alive while it lasts, finished or failed at its end."""

import asyncio
import logging
from types import TracebackType
from typing import Self

from willow_client.errors import WillowError, told_to_broker
from willow_client.message import Message

logger = logging.getLogger("willow_client")


class Working:
    """`async with`: finishes the message on success and fails it, with the error's text, on an exception.

    The exception goes on to the caller. Set `reply` to hand something to the poster.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self.reply: bytes | str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._keepalive: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._arm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timer is not None
        self._timer.cancel()
        if error is None:
            await self.message.finish(self.reply)
        else:
            await self._fail(error)

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.message.keepalive_seconds, self._keep_alive_soon)

    def _keep_alive_soon(self) -> None:
        self._keepalive = asyncio.get_running_loop().create_task(self._keep_alive())
        self._arm()

    async def _keep_alive(self) -> None:
        try:
            await self.message.keepalive()
        except WillowError as error:
            logger.warning("A message could not be kept alive: %s", error)

    async def _fail(self, error: BaseException) -> None:
        """Report the failure; the exception that caused it matters more than one on the way to the broker."""
        try:
            await self.message.fail(told_to_broker(error))
        except WillowError as refusal:
            logger.warning("A failed message could not be given back: %s", refusal)
