"""Asynchronous tasks, on the worker's event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import Error, close_old_connections, connections
from django.db.backends.signals import connection_created

from willow_django.limits import SoftTimeLimitExceeded, TimeLimitExceeded, limit
from willow_django.places import Places
from willow_django.running import Attempt

logger = logging.getLogger("willow_django")


class OnTheLoop:
    """Each in an asyncio task of its own: what one does to its context, or to `current_task()`, no other one sees."""

    def __init__(self, places: Places, soft_time_limit: float | None, hard_time_limit: float | None) -> None:
        self._places = places
        self._soft_time_limit = soft_time_limit
        self._hard_time_limit = hard_time_limit
        self._connections = SharedConnections()

    async def run(self, attempt: Attempt) -> Any:
        """What the task returned. Raises what it raised."""
        await self._places.in_thread(attempt.tell_started)
        await self._connections.begin()
        hard = limit(self._hard_time_limit, TimeLimitExceeded)
        soft = limit(self._soft_time_limit, SoftTimeLimitExceeded)
        try:
            async with hard, soft:
                value, left_with = await asyncio.create_task(_awaited(attempt))
        finally:
            self._connections.close_old()
        if left_with is not None:
            raise left_with
        return value


async def _awaited(attempt: Attempt) -> tuple[Any, SystemExit | None]:
    """What it returned, or that it wants to leave: raised in a task of asyncio's, that would end the loop."""
    try:
        return await attempt.result.task.func(*attempt.arguments, **attempt.result.kwargs), None
    except SystemExit as error:
        return None, error


class SharedConnections:
    """Those of the one thread in which asgiref runs what asynchronous code does with the database.

    As around a request, they are closed if they broke or are old. While there is none, as where tasks do not use the
    database, nothing is asked of that thread.
    """

    def __init__(self) -> None:
        self._thread: int | None = None
        self._are_open = False
        self._closing: asyncio.Future[None] | None = None
        self._told: Callable[..., None] = self._opened  # the signal keeps no receiver alive
        connection_created.connect(self._told)

    async def begin(self) -> None:
        if self._thread is None:
            self._thread = await sync_to_async(threading.get_ident)()

    def close_old(self) -> None:
        """Without waiting: the thread may be busy for long. What comes to it later finds them closed."""
        if self._are_open and (self._closing is None or self._closing.done()):
            self._closing = asyncio.ensure_future(sync_to_async(self._close_old)())

    # in that thread

    def _opened(self, **kwargs: Any) -> None:
        if threading.get_ident() == self._thread:
            self._are_open = True

    def _close_old(self) -> None:
        try:
            close_old_connections()
        except Error as error:
            logger.warning("A connection to the database could not be closed: %s", error)
        self._are_open = any(one.connection is not None for one in connections.all(initialized_only=True))
