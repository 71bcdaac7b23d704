"""How many messages wait to be taken in each queue, as far as this node knows.

It saves those who are about to wait anyway a look at the queue, and lets a post go straight to them. Exact while only
this node posts to a queue; of what other nodes do it knows by hints, and those may get lost. So it may only ever decide
what is quicker, and somebody who looks now and then sets it right.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

TRUST_SECONDS = 0.05  # how long after somebody really looked a queue is taken to be empty


@dataclass(frozen=True, slots=True)
class Look:
    """What was known of a queue when a claim began to look into it."""

    newest_index: float
    stored: int
    surprises: tuple[int, int]


class Stock:
    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}  # by queue: messages, where it is known
        self._newest: dict[int, int] = {}  # by queue: the newest index that this node stored
        self._stored: Counter[int] = Counter()  # by queue: messages, ever since
        self._surprises: Counter[int] = Counter()  # by queue: how often something came that could not be counted
        self._seen_empty: dict[int, float] = {}  # by queue, of the monotonic clock
        self._forgotten = 0  # queues

    def look_begins(self, queue_id: int) -> Look:
        newest = self._newest.get(queue_id, math.inf)
        return Look(newest, self._stored[queue_id], self._surprises_of(queue_id))

    def _surprises_of(self, queue_id: int) -> tuple[int, int]:
        """Different after each."""
        return self._surprises[queue_id], self._forgotten

    def taken(self, queue_id: int, messages: int) -> None:
        """So many of those that this node stored; what others stored, or what came back, was never counted."""
        if queue_id in self._waiting:
            self._waiting[queue_id] -= messages

    def ran_dry(self, queue_id: int, look: Look, taken: Iterable[int]) -> None:
        """A look found fewer than it wanted: nothing is left of what was stored before it.

        What was stored meanwhile it may have seen or not: the indexes of what it has taken tell, of those messages
        that this node stored.
        """
        if look.surprises != self._surprises_of(queue_id):
            return
        seen = sum(index > look.newest_index for index in taken)
        self._waiting[queue_id] = self._stored[queue_id] - look.stored - seen
        self._seen_empty[queue_id] = time.monotonic()

    def stored(self, queue_id: int, messages: int) -> None:
        """This node has stored so many that can be taken."""
        self._stored[queue_id] += messages
        if queue_id in self._waiting:
            self._waiting[queue_id] += messages

    def newest_is(self, queue_id: int, index: int) -> None:
        self._newest[queue_id] = index

    def newest(self, queue_id: int) -> int | None:
        return self._newest.get(queue_id)

    def something_came(self, queue_id: int) -> None:
        """Nobody knows how much, nor with which indexes."""
        self._surprises[queue_id] += 1
        self._waiting.pop(queue_id, None)
        self._newest.pop(queue_id, None)

    def forget(self, queue_id: int) -> None:
        """The queue is gone, or everything about it is to be learned anew."""
        self._forgotten += 1
        for known in (self._waiting, self._newest, self._stored, self._surprises, self._seen_empty):
            known.pop(queue_id, None)

    def is_empty(self, queue_id: int) -> bool:
        return self._waiting.get(queue_id) == 0 and time.monotonic() - self._seen_empty[queue_id] < TRUST_SECONDS

    def is_enough_for_all(self, queue_id: int, places: int) -> bool:
        """Whether so many places take all that waits."""
        return self._waiting.get(queue_id, math.inf) <= places
