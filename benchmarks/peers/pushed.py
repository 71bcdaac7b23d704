"""Messages that a peer pushes, until somebody takes them."""

import asyncio
from collections.abc import Sequence

from benchmarks.peers.connection import Taken


class Pushed:
    def __init__(self) -> None:
        self._arrived: asyncio.Queue[Taken] = asyncio.Queue()

    def put(self, message: Taken) -> None:
        self._arrived.put_nowait(message)

    async def take(self, count: int, wait: float) -> Sequence[Taken]:
        """What is here, as soon as something is."""
        if self._arrived.empty():
            try:
                taken = [await asyncio.wait_for(self._arrived.get(), wait)]
            except TimeoutError:
                return []
        else:
            taken = [self._arrived.get_nowait()]
        while len(taken) < count and not self._arrived.empty():
            taken.append(self._arrived.get_nowait())
        return taken
