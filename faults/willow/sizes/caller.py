"""A connection that asks one thing after the other."""

import itertools
import json
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

Fields = dict[str, Any]
OPEN_SECONDS = 60.0


class Caller:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._labels = itertools.count(1)

    async def ask(self, kind: str, **fields: Any) -> Fields:
        """The first frame with the command's label."""
        return await self.ask_last([{"type": kind, **fields}])

    async def ask_last(self, commands: list[Fields]) -> Fields:
        """All in one frame. Only the last has a label, and its answer is returned."""
        label = next(self._labels)
        commands[-1]["label"] = label
        await self._socket.send(json.dumps(commands))
        while True:
            frame: Fields = json.loads(await self._socket.recv())
            if frame.get("label") == label:
                if frame["type"] == "error":
                    raise RuntimeError(f"refused: {frame}")
                return frame

    async def close(self) -> None:
        await self._socket.close()

    @property
    def is_open(self) -> bool:
        return self._socket.close_code is None


async def call(url: str) -> Caller:
    socket = await connect(
        url, max_size=None, compression=None, open_timeout=OPEN_SECONDS, ping_interval=None, close_timeout=5
    )
    await socket.recv()  # hello
    return Caller(socket)
