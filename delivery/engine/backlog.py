"""How many messages wait to be taken in each queue, as far as this node knows.

It saves readers a query of a queue that is empty, and lets a post go straight to a reader that waits. The count is
exact while only this node posts to a queue. About other nodes it learns by hints, which can be lost. So it may only
decide which way is faster, and every claim that finds a queue empty corrects it.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

TRUST_SECONDS = 0.05  # how long a queue that was found empty counts as empty


@dataclass(frozen=True, slots=True)
class Look:
    """What was known of a queue when a claim began to look into it."""

    newest_index: float
    stored: int
    surprises: tuple[int, int]


class Backlog:
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
        """Messages that this node stored were taken. Those of other nodes, or that came back, were never counted."""
        if queue_id in self._waiting:
            self._waiting[queue_id] -= messages

    def ran_dry(self, queue_id: int, look: Look, taken: Iterable[int]) -> None:
        """A look found fewer than it wanted: nothing is left of what was stored before it.

        It may or may not have seen what was stored while it ran. The indexes of what it took tell, for the messages
        that this node stored.
        """
        if look.surprises != self._surprises_of(queue_id):
            return
        seen = sum(index > look.newest_index for index in taken)
        self._waiting[queue_id] = self._stored[queue_id] - look.stored - seen
        self._seen_empty[queue_id] = time.monotonic()

    def stored(self, queue_id: int, messages: int) -> None:
        """This node has stored messages that can be taken."""
        self._stored[queue_id] += messages
        if queue_id in self._waiting:
            self._waiting[queue_id] += messages

    def newest_is(self, queue_id: int, index: int) -> None:
        self._newest[queue_id] = index

    def newest(self, queue_id: int) -> int | None:
        return self._newest.get(queue_id)

    def something_came(self, queue_id: int) -> None:
        """Messages came, and neither their number nor their indexes are known."""
        self._surprises[queue_id] += 1
        self._waiting.pop(queue_id, None)
        self._newest.pop(queue_id, None)

    def forget(self, queue_id: int) -> None:
        """The queue is gone, or what is known of it may be wrong."""
        self._forgotten += 1
        for known in (self._waiting, self._newest, self._stored, self._surprises, self._seen_empty):
            known.pop(queue_id, None)

    def is_empty(self, queue_id: int) -> bool:
        return self._waiting.get(queue_id) == 0 and time.monotonic() - self._seen_empty[queue_id] < TRUST_SECONDS

    def is_enough_for_all(self, queue_id: int, places: int) -> bool:
        """Whether this number of places takes all messages that wait."""
        return self._waiting.get(queue_id, math.inf) <= places
