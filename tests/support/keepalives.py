"""Keepalives of the Python client, watched without relying on how fast the machine is."""

import asyncio

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE


class Keepalives:
    """They come a hundred times as often as the claims ask for, so that none can be late."""

    LEASE_SECONDS = 60.0  # of the claims that they keep alive
    PER_CLAIM = 300

    def __init__(self, texts_sent: list[bytes]) -> None:
        self._texts_sent = texts_sent

    @property
    def sent(self) -> int:
        return sum(text.count(b'"keepalive"') for text in self._texts_sent)

    async def wait_for(self, more: int) -> None:
        enough = self.sent + more
        async with asyncio.timeout(PATIENCE):
            while self.sent < enough:
                await asyncio.sleep(LOOK_SECONDS)
