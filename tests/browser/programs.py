"""Programs that post and read while a person looks at the console: they run in a thread of their own, because
Playwright's calls wait."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any, TypeVar

from tests.support.client import Client, connected
from tests.support.cluster import PATIENCE

Result = TypeVar("Result")
WHILE_SOMEBODY_CLICKS = 20 * PATIENCE  # seconds that a program waits for what an operator does, page by page


class Programs:
    def __init__(self, url: str, loop: asyncio.AbstractEventLoop, connections: AsyncExitStack) -> None:
        self._url = url
        self._loop = loop
        self._connections = connections

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do something with a client, to its end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def connect(self, **how: Any) -> Client:
        """A client that stays connected until the test is over."""
        return self.run(self._connections.enter_async_context(connected(self._url, **how)))


@contextmanager
def running_programs(url: str) -> Iterator[Programs]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    connections = AsyncExitStack()
    programs = Programs(url, loop, connections)
    try:
        yield programs
    finally:
        programs.run(connections.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()
