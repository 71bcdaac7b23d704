"""A request over HTTP, piece by piece."""

import asyncio
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from benchmarks.neighbours.attacker import Target

NOTHING = "no answer"
PATIENCE = 30.0  # seconds


class HttpRequest:
    """`is_whole`: whether its headers come to an end."""

    def __init__(self, target: Target, *lines: str, is_whole: bool = True) -> None:
        self._parts = urlsplit(target.http_url)
        host = f"Host: {self._parts.netloc}"
        self._head = "\r\n".join([lines[0], host, *lines[1:], *(("", "") if is_whole else ("",))]).encode()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        await self.send(self._head)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.transport.abort()

    async def send(self, data: bytes) -> bool:
        """False if nothing more is taken."""
        try:
            self._writer.write(data)
            async with asyncio.timeout(PATIENCE):
                await self._writer.drain()
        except (OSError, TimeoutError):
            return False
        return True

    async def status(self) -> str:
        try:
            async with asyncio.timeout(PATIENCE):
                line = await self._reader.readline()
        except (OSError, TimeoutError):
            return NOTHING
        return line.split()[1].decode() if line else NOTHING

    async def all(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read()
