"""The blocking client of this process, and clients of the event loops that asked for one."""

import asyncio
import weakref
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


_of_loops: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[WillowSettings, "asyncio.Task[willow_client.Client]"]
] = weakref.WeakKeyDictionary()


async def client_of_this_loop() -> willow_client.Client:
    """Opened when it is first asked for, and open as long as its loop."""
    settings = willow_settings()
    clients = _of_loops.setdefault(asyncio.get_running_loop(), {})
    opening = clients.get(settings)
    if opening is None or (opening.done() and not _is_open(opening)):
        opening = clients[settings] = asyncio.ensure_future(new_client().open())
    return await asyncio.shield(opening)


def _is_open(opening: "asyncio.Task[willow_client.Client]") -> bool:
    return not opening.cancelled() and opening.exception() is None and opening.result().is_open
