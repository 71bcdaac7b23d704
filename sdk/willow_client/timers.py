"""Things that are done later, each under a name: what is scheduled again replaces what was."""

import asyncio
from collections.abc import Callable


class Timers:
    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._stopped = False

    def schedule(self, name: str, seconds: float, action: Callable[[], None]) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        if not self._stopped:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, action)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
