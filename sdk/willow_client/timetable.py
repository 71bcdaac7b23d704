"""Things that come due: many of them, most of which are taken out before. They share timers."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Timetable(Generic[Key]):
    """Keys that come due a number of seconds after they were put in, with one timer for all of the same number.

    Putting in and taking out cost two operations on a dict each, so that every call and every claim can be timed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, due: Callable[[Key], None]) -> None:
        self._loop = loop
        self._due = due
        self._times: dict[float, dict[Key, float]] = {}  # by seconds; each in the order in which they come due

    def put(self, seconds: float, key: Key) -> None:
        keys = self._times.get(seconds)
        if keys is None:
            keys = self._times[seconds] = {}
            self._loop.call_later(seconds, self._look, seconds)
        keys[key] = self._loop.time() + seconds

    def take_out(self, seconds: float, key: Key) -> None:
        keys = self._times.get(seconds)
        if keys is not None:
            keys.pop(key, None)

    def clear(self) -> None:
        for keys in self._times.values():
            keys.clear()

    def _look(self, seconds: float) -> None:
        keys = self._times[seconds]
        now = self._loop.time()
        while keys:
            key, time = next(iter(keys.items()))
            if time > now:
                self._loop.call_later(time - now, self._look, seconds)
                return
            del keys[key]
            self._due(key)
        del self._times[seconds]
