"""What attacks share: where the node is, and a socket that says whatever it likes and counts what it gets."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

LOOK_SECONDS = 0.01
Command = dict[str, Any]
Spoils = Counter[str]  # what an attacker got: kinds of frames, codes of errors, why it was closed


@dataclass(frozen=True)
class Target:
    url: str  # of the WebSocket
    http_url: str
    key: str = ""  # of an attack with `KEY_SECONDS`


class RawSocket:
    """Sends without waiting for answers. Its answers are counted, unless it does not read."""

    def __init__(self, socket: ClientConnection, *, reads: bool = True) -> None:
        self.socket = socket
        self.got: Spoils = Counter()
        self._reader = asyncio.ensure_future(self._read()) if reads else None

    async def send(self, *commands: Command) -> bool:
        """In one frame. Returns whether the socket is still open."""
        try:
            await self.socket.send(json.dumps(commands))
        except ConnectionClosed:
            return False
        return True

    async def answered(self, count: int) -> None:
        """Wait for that many frames in all, or the end of the socket."""
        while sum(self.got.values()) < count and self._reader is not None and not self._reader.done():
            await asyncio.sleep(LOOK_SECONDS)

    async def _read(self) -> None:
        try:
            async for data in self.socket:
                content = json.loads(data)
                for frame in content if isinstance(content, list) else [content]:
                    self.got[frame.get("code") or frame["type"]] += 1
        except ConnectionClosed:
            self.got[f"closed {self.socket.close_code} {self.socket.close_reason}".rstrip()] += 1

    async def leave(self) -> None:
        """Without a word: what is unread is of no interest any more."""
        if self._reader is not None:
            self._reader.cancel()
        self.socket.transport.abort()


@asynccontextmanager
async def raw_socket(target: Target, *, reads: bool = True, query: str = "batch=true") -> AsyncIterator[RawSocket]:
    socket = await connect(
        f"{target.url}?{query}", compression=None, max_size=None, ping_interval=None, open_timeout=60
    )
    raw = RawSocket(socket, reads=reads)
    try:
        yield raw
    finally:
        await raw.leave()


def deadline(seconds: float) -> float:
    """The moment of the loop's clock at which an attack ends."""
    return asyncio.get_running_loop().time() + seconds


def is_over(moment: float) -> bool:
    return asyncio.get_running_loop().time() >= moment
