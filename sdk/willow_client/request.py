"""A request that this client answers as a worker."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from willow_client.bodies import WithBody
from willow_client.commands import Keepalive
from willow_client.connection import Connection
from willow_client.frames import Assignment

logger = logging.getLogger("willow_client")

KEEPALIVE_SECONDS = 20.0  # a request does not say how long it may take; the service's queue, 300 seconds by default


class Request(WithBody):
    """`config` is what operators configured for the service, as of now."""

    __slots__ = ("_connection", "config", "identifier", "service")

    def __init__(self, connection: Connection, assignment: Assignment, config: dict[str, Any]) -> None:
        super().__init__(assignment.body)
        self._connection = connection
        self.identifier = assignment.work_request_identifier
        self.service = assignment.service
        self.config = config

    def __repr__(self) -> str:
        return f"<Request {self.identifier} to {self.service}: {self._preview()}>"

    async def keepalive(self) -> None:
        """Start the time that a worker may take again from zero; the client does so by itself, too.

        `WillowError` if the request went to another worker.
        """
        await self._connection.ask(Keepalive(**self._message()), repeatable=True)

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def keep_alive() -> None:
            nonlocal timer
            self._connection.say(Keepalive(**self._message()))
            timer = loop.call_later(KEEPALIVE_SECONDS, keep_alive)

        timer = loop.call_later(KEEPALIVE_SECONDS, keep_alive)
        try:
            yield
        finally:
            timer.cancel()

    def _message(self) -> dict[str, Any]:
        """A request is a message of the service's queue, and its identifier the message's numbers."""
        shard, sequence, index = map(int, self.identifier.split("."))
        return {"queue": f"service:{self.service}", "shard": shard, "sequence": sequence, "index": index}
