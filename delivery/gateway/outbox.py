"""Frames on their way to one client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from delivery.gateway.handshake import Encoder
from delivery.protocol.frames import Frame

CROWDED_FRAMES = 10_000  # waiting for a slow client; above this its commands are not read

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Outbox:
    """Collects the frames of one pass of the event loop and sends them together."""

    def __init__(self, send: Send, encoder: Encoder, *, batch: bool) -> None:
        self._send = send
        self._encoder = encoder
        self._batch = batch
        self._frames: list[Frame] = []
        self._something = asyncio.Event()
        self._closing: dict[str, Any] | None = None
        self._emptied = asyncio.Event()

    def put(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._something.set()

    def close(self, code: int, reason: str) -> None:
        """Close the socket when everything that was put before has been sent."""
        self._closing = {"type": "websocket.close", "code": code, "reason": reason}
        self._something.set()

    async def run(self) -> None:
        while self._closing is None:
            await self._something.wait()
            await self.flush()
            self._emptied.set()
        await self._send(self._closing)

    async def wait_until_roomy(self) -> None:
        """Wait while the client reads its answers more slowly than they are made."""
        while len(self._frames) > CROWDED_FRAMES:
            self._emptied.clear()
            await self._emptied.wait()

    async def flush(self) -> None:
        self._something.clear()
        frames, self._frames = self._frames, []
        if self._batch and len(frames) > 1:
            for data in self._encoder.encode_batch(frames):
                await self._send({"type": "websocket.send", self._encoder.part: data})
        else:
            for frame in frames:
                await self._send({"type": "websocket.send", self._encoder.part: self._encoder.encode(frame)})
