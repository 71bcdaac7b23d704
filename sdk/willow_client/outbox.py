"""What is to be sent: commands of one turn of the event loop share a text."""

import asyncio
from collections import deque
from collections.abc import Iterable

MOST_COMMANDS_PER_TEXT = 1000
MOST_BYTES_PER_TEXT = 1024 * 1024  # a single command may be larger
# A caller that waits for no answers is made to wait when so much has not been sent yet.
FULL_BYTES = 4 * 1024 * 1024


class Outbox:
    def __init__(self, *, batch: bool) -> None:
        self._most = MOST_COMMANDS_PER_TEXT if batch else 1
        self._commands: deque[bytes] = deque()
        self._bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._emptied = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._commands)

    def put(self, encoded: bytes) -> None:
        self._commands.append(encoded)
        self._bytes += len(encoded)
        if self._bytes >= FULL_BYTES:
            self._room.clear()

    def put_first(self, commands: Iterable[bytes]) -> None:
        for encoded in reversed(list(commands)):
            self._commands.appendleft(encoded)
            self._bytes += len(encoded)

    def withdraw(self, encoded: bytes) -> bool:
        """Take back what was not sent yet. Returns whether it was still there."""
        try:
            self._commands.remove(encoded)
        except ValueError:
            return False
        self._gone(len(encoded))
        return True

    def clear(self) -> None:
        self._commands.clear()
        self._gone(self._bytes)

    def unsent(self) -> set[bytes]:
        return set(self._commands)

    def next_text(self) -> bytes:
        """Take as many commands as go into one text."""
        commands = self._commands
        first = commands.popleft()
        if not commands or self._most == 1:
            self._gone(len(first))
            return first
        taken, size = [first], len(first)
        while commands and len(taken) < self._most and size + len(commands[0]) <= MOST_BYTES_PER_TEXT:
            taken.append(commands.popleft())
            size += len(taken[-1])
        self._gone(size)
        return first if len(taken) == 1 else b"[" + b",".join(taken) + b"]"

    def _gone(self, size: int) -> None:
        self._bytes -= size
        if self._bytes < FULL_BYTES:
            self._room.set()
        if not self._commands:
            self._emptied.set()

    @property
    def has_room(self) -> bool:
        return self._room.is_set()

    async def room(self) -> None:
        await self._room.wait()

    async def emptied(self) -> None:
        if self._commands:
            self._emptied.clear()
            await self._emptied.wait()

    def let_everybody_go(self) -> None:
        """Nothing is sent any more: whoever waits for room is told so by the connection."""
        self._room.set()
        self._emptied.set()
