"""What clients have not read yet of answers over HTTP: it counts with what others have not read of theirs."""

import asyncio
from typing import Any

from django.conf import settings

from delivery.sessions.unread_answers import UnreadAnswers
from willow_site.server.transports import unsent_bytes

LOOK_AGAIN_SECONDS = 0.02
MOST_LOOK_AGAIN_SECONDS = 0.32


class UnreadOverHttp:
    """Of one connection."""

    def __init__(self, transport: Any, unread: UnreadAnswers) -> None:
        self._transport = transport
        self._unread = unread
        self._waiting_bytes = 0  # of an answer that is not in the socket yet
        self._ended = False
        self.size = 0
        unread.came(self)

    async def wait_until_below(self, most_bytes: int, more_bytes: int) -> None:
        """Wait with so much more until the client has read what it has. Who reads nothing is given up."""
        self._waiting_bytes = more_bytes
        self._count()
        loop, pause = asyncio.get_running_loop(), LOOK_AGAIN_SECONDS
        before, since = self.size, loop.time()
        while unsent_bytes(self._transport) > most_bytes:
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_LOOK_AGAIN_SECONDS)
            self.look_again()
            if self.size < before:
                before, since = self.size, loop.time()
            elif loop.time() - since > settings.WILLOW.unread_seconds:
                self.give_up()

    def was_written(self) -> None:
        self._waiting_bytes = 0
        self._count()

    def _count(self) -> None:
        self.look_again()
        self._unread.make_room()

    def look_again(self) -> None:
        if self._ended:
            return
        before = self.size
        self.size = self._waiting_bytes + unsent_bytes(self._transport)
        self._unread.bytes += self.size - before

    def give_up(self) -> None:
        self._unread.given_up += 1
        self._transport.abortConnection()
        self.end()

    def end(self) -> None:
        self._ended = True
        self._unread.bytes -= self.size
        self.size = 0
        self._unread.went(self)
