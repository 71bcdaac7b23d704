"""Work on one message: finished at its end, failed on an exception, cancelled when it is not ours any more."""

import asyncio
import logging
from types import TracebackType
from typing import Self

from willow_client.bodies import Body
from willow_client.errors import ClaimLost, WillowError, told_to_broker
from willow_client.message import Message
from willow_client.outcomes import GiveUp, Retry
from willow_client.spans import consuming

logger = logging.getLogger("willow_client")


class Working:
    """`async with`: finishes the message on success and fails it, with the error's text, on an exception.

    The exception goes on to the caller. Set `reply` to hand something to the poster. If the claim is lost, the work
    is cancelled and `ClaimLost` raised.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self.reply: Body | None = None
        self._task: asyncio.Task[object] | None = None
        self._lost = False
        self._span = consuming(message)

    async def __aenter__(self) -> Self:
        self._span.__enter__()
        self._task = asyncio.current_task()
        self.message.begin()
        self.message.tell_when_lost(self._cancel)
        return self

    def _cancel(self) -> None:
        self._lost = True
        if self._task is not None:
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, trace)
        task, self._task = self._task, None
        if self._lost:
            self.message.let_go()
            if isinstance(error, asyncio.CancelledError) and task is not None:
                task.uncancel()
            reason = f"{self.message!r} was lost while it was worked on."
            raise ClaimLost("NoObject", f"{self.message.shard}/{self.message.sequence}", reason) from None
        if error is None:
            await self.message.finish(self.reply)
        else:
            await self._fail(error)

    async def _fail(self, error: BaseException) -> None:
        """Report the failure; the exception that caused it matters more than one on the way to the broker."""
        try:
            await fail_with(self.message, error)
        except WillowError as refusal:
            logger.warning("A failed message could not be given back: %s", refusal)


async def fail_with(message: Message, error: BaseException) -> None:
    """As the exception of the work says."""
    if isinstance(error, Retry):
        await message.fail(error.told, delay=error.delay)
    elif isinstance(error, GiveUp):
        await message.give_up(error.told)
    else:
        await message.fail(told_to_broker(error))
