"""What all parts of the client share: its connection, and how it is opened and closed."""

import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from willow_client.arguments import check_seconds
from willow_client.brokers import Brokers
from willow_client.closing import close_in_good_order
from willow_client.connection import Connection
from willow_client.errors import without_query
from willow_client.limits import Limit, NotGiven, limit
from willow_client.options import Options


class ClientBase:
    def __init__(self, url: str | Sequence[str], options: Options | None = None) -> None:
        self.options = options or Options()
        self._connection = Connection(Brokers(url), self.options)
        # Begins the texts by which repeated posts are known. Not from `random`, which programs seed.
        self._dedupe = f"{secrets.token_hex(8)}-"
        self._posts = 0

    def __repr__(self) -> str:
        connection = self._connection
        state = "connected" if connection.is_connected else "reconnecting" if connection.is_open else "closed"
        return f"<Client of {without_query(connection.brokers.current)}, {state}>"

    @property
    def is_open(self) -> bool:
        """Opened and not closed; it may be reconnecting."""
        return self._connection.is_open

    @property
    def is_connected(self) -> bool:
        """To a broker, now."""
        return self._connection.is_connected

    def flush(self) -> None:
        """Send what was said, before the event loop's next turn."""
        self._connection.flush()

    async def open(self, *, timeout: Limit = NotGiven) -> Self:
        """Connect, to any of the brokers. `close` ends it; `async with` does both."""
        seconds = limit(self._connection, timeout)
        if not self._connection.is_open:
            await self._connection.open(seconds)
        return self

    async def close(self, *, timeout: float | None = None) -> None:
        """Give back what was not begun, and disconnect; what was begun and not finished has failed.

        `timeout`: seconds for all of it, 5 if it is not given. If they do not suffice nothing is raised, and the broker
        finds out by itself.
        """
        await close_in_good_order(self._connection, check_seconds("timeout", timeout))

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
