"""Willow with one connection for all clients of a process, and a subscription for those that take."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.peers.willow import CONFIRM, missing, serving
from benchmarks.peers.willow_subscribed import SubscribedConnection, subscribed
from benchmarks.peers.workload import CLIENTS

__all__ = ["CONFIRM", "MODE", "NAME", "connect", "missing", "serving"]

NAME = "Willow, one connection, subscribe"
MODE = "by subscribe, one connection"

_shared: dict[str, SubscribedConnection] = {}  # by address


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[SubscribedConnection]:
    """The first one opens the connection, and the same one closes it: contexts are left in the other order."""
    if address in _shared:
        yield _shared[address]
        return
    async with subscribed(address, CLIENTS) as connection:
        _shared[address] = connection
        try:
            yield connection
        finally:
            del _shared[address]
