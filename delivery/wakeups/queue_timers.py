"""One timer for each queue, set to the earliest moment at which something of it is due."""

import asyncio
from collections.abc import Callable


class QueueTimers:
    """`due` is called with the queue when its timer ends."""

    def __init__(self, due: Callable[[int], None]) -> None:
        self._due = due
        self._timers: dict[int, tuple[float, asyncio.Handle]] = {}  # with when they end, by the loop's clock

    def expect(self, queue_id: int, seconds: float) -> None:
        """Something of the queue is due in so many seconds. A timer that ends earlier stays as it is."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        if queue_id in self._timers:
            earlier_end, timer = self._timers[queue_id]
            if earlier_end <= end:
                return
            timer.cancel()
        # uvloop makes a plain handle of what is due at once, which cannot say when.
        self._timers[queue_id] = end, loop.call_later(seconds, self._end, queue_id)

    def _end(self, queue_id: int) -> None:
        del self._timers[queue_id]
        self._due(queue_id)
