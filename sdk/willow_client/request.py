"""A request that this client answers as a worker."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from willow_client.bodies import WithBody
from willow_client.calls import NOT_YOURS, Call, error_of
from willow_client.claims import keepalive_interval
from willow_client.commands import Keepalive
from willow_client.connection import Connection
from willow_client.errors import WillowError
from willow_client.frames import AnyFrame, Assignment, Error
from willow_client.limits import Limit, NotGiven, limit

logger = logging.getLogger("willow_client")


class Request(WithBody):
    """`config` is what operators configured for the service, as of now."""

    __slots__ = ("_connection", "config", "identifier", "service", "work_timeout")

    def __init__(self, connection: Connection, assignment: Assignment, config: dict[str, Any]) -> None:
        super().__init__(assignment.body)
        self._connection = connection
        self.identifier = assignment.work_request_identifier
        self.service = assignment.service
        self.config = config
        self.work_timeout = assignment.work_timeout  # seconds that it stays this worker's without a keepalive

    def __repr__(self) -> str:
        return f"<Request {self.identifier} to {self.service}: {self._preview()}>"

    async def keepalive(self, *, timeout: Limit = NotGiven) -> None:
        """Start the time that a worker may take again from zero; the client does so by itself, too.

        `WillowError` if the request went to another worker.
        """
        seconds = limit(self._connection, timeout)
        await self._connection.ask(Keepalive(**self._message()), repeatable=True, timeout=seconds)

    @contextmanager
    def kept_alive(self, lost: Callable[[], None]) -> Iterator[None]:
        """As often as its time asks. `lost` is called if it is not this worker's any more."""
        loop = asyncio.get_running_loop()
        interval = keepalive_interval(self.work_timeout)
        timer: asyncio.TimerHandle

        def keep_alive() -> None:
            nonlocal timer
            if self._connection.is_connected:
                command = Keepalive(**self._message(), label=self._connection.new_label())
                self._connection.start(RequestKeepalive(command, lost))
            timer = loop.call_later(interval, keep_alive)

        timer = loop.call_later(interval, keep_alive)
        try:
            yield
        finally:
            timer.cancel()

    def _message(self) -> dict[str, Any]:
        """A request is a message of the service's queue, and its identifier the message's numbers."""
        shard, sequence, index = map(int, self.identifier.split("."))
        return {"queue": f"service:{self.service}", "shard": shard, "sequence": sequence, "index": index}


class RequestKeepalive(Call):
    """Nobody awaits it: a refusal means that the request was lost."""

    __slots__ = ("_lost",)

    def __init__(self, command: Keepalive, lost: Callable[[], None]) -> None:
        super().__init__(command, repeatable=False)
        self._lost = lost

    def take(self, frame: AnyFrame) -> bool:
        if isinstance(frame, Error):
            if frame.code in NOT_YOURS:
                self._lost()
            else:
                logger.warning("A request could not be kept alive: %s", error_of(frame))
        return True

    def fail(self, error: WillowError) -> None:
        pass
