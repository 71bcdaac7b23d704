"""The blocking client of this process, and clients of the event loops that asked for one."""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from functools import cache

import willow_client
from willow_client import sync

from willow_django.conf import WillowSettings, willow_settings


def blocking_client() -> sync.Client:
    return _blocking_client(willow_settings())


@cache
def _blocking_client(settings: WillowSettings) -> sync.Client:
    return sync.connect(settings.url, token=settings.token, timeout=settings.timeout)


def new_client() -> willow_client.Client:
    """For `async with`, in the program of a worker or relay."""
    settings = willow_settings()
    return willow_client.connect(settings.url, token=settings.token, timeout=settings.timeout)


class _Opening:
    """A client, and what keeps it open. `asyncio.run` and its like end the generator with the loop, and so the client:
    a view that is called by WSGI has a loop of its own for each request.
    """

    def __init__(self) -> None:
        self._generator = _as_long_as_the_loop()
        self.task = asyncio.ensure_future(anext(self._generator))

    def is_usable(self) -> bool:
        if not self.task.done():
            return True
        return not self.task.cancelled() and self.task.exception() is None and self.task.result().is_open


async def _as_long_as_the_loop() -> AsyncGenerator[willow_client.Client, None]:
    async with new_client() as client:
        yield client


_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[WillowSettings, _Opening]] = (
    weakref.WeakKeyDictionary()
)


async def client_of_this_loop() -> willow_client.Client:
    """Opened when it is first asked for, and open as long as its loop."""
    settings = willow_settings()
    for loop in [loop for loop in _of_loops if loop.is_closed()]:
        _of_loops.pop(loop, None)  # what is kept for a loop refers to it, so it would never be forgotten
    clients = _of_loops.setdefault(asyncio.get_running_loop(), {})
    opening = clients.get(settings)
    if opening is None or not opening.is_usable():
        opening = clients[settings] = _Opening()
    return await asyncio.shield(opening.task)
