"""How many tasks a worker holds beside those that run.

Many while they are short: their rows are read and written together, and nothing waits for the broker. Few while they
are long: what waits here, another worker could begin at once.
"""

import asyncio
from collections import deque

from willow_client import QueueWorker

from willow_django.turns import Turns

LOOK_SECONDS = 0.25
LOOKS = 4  # whose average counts: tasks that begin together also end together
LEAST = 1  # tasks
MOST = 16  # tasks for each that runs


class Holding:
    """As much as the worker does in `LOOK_SECONDS`. By powers of two, so that it does not change with every look."""

    def __init__(self, worker: QueueWorker, turns: Turns, concurrency: int) -> None:
        self._worker = worker
        self._turns = turns
        self._concurrency = concurrency
        self._beside = LEAST
        self._ended: deque[int] = deque([0], LOOKS + 1)  # since the start, at each of the last looks
        worker.hold_at_most(concurrency + LEAST)

    async def adapt(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._ended.append(self._turns.ended)
            in_one_look = (self._ended[-1] - self._ended[0]) // LOOKS
            self._hold_beside(_power_of_two(max(LEAST, min(in_one_look, MOST * self._concurrency))))

    def _hold_beside(self, tasks: int) -> None:
        """What waits already, and is more, is given back at once."""
        if tasks != self._beside:
            self._beside = tasks
            self._worker.hold_at_most(self._concurrency + tasks)
            self._turns.keep(tasks)


def _power_of_two(number: int) -> int:
    """The largest that is not above it."""
    return 1 << (number.bit_length() - 1)
