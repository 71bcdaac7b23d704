"""The limits of queues, as far as a node must know them: the statements that claim go by what the database says.

A node that does not know of a limit yet gets nothing from its queue, until it has heard of it.
"""

from collections.abc import Callable

from delivery.wakeups.queue_timers import QueueTimers
from queues.definitions import QueueRecord

SHORTEST_WAIT = 0.005  # seconds between two looks at a queue whose rate allows more than that


class Limits:
    """`next_is_due` is told of a queue when its rate allows more, for those who wait here: other nodes have timers of
    their own. `places_are_free` is told of a queue when claims of it ended, for those who wait anywhere."""

    def __init__(
        self,
        queue: Callable[[int], QueueRecord | None],
        *,
        next_is_due: Callable[[int], None],
        places_are_free: Callable[[int, int], None],
    ) -> None:
        self._queue = queue
        self._places_are_free = places_are_free
        self._next_ones = QueueTimers(next_is_due)

    def apply_to(self, queue_id: int, *, pops: bool = False) -> bool:
        queue = self._queue(queue_id)
        return queue is not None and (queue.limits_pops if pops else queue.limits_claims)

    def apply_to_groups(self, queue_id: int) -> bool:
        """Also if nobody here knows: its messages may have been claimed on another node."""
        queue = self._queue(queue_id)
        return queue is None or queue.settings.group_in_flight is not None

    def expect(self, queue_id: int, seconds: float) -> None:
        """Its rate allows the next message then, and somebody waits for it."""
        self._next_ones.expect(queue_id, max(SHORTEST_WAIT, seconds))

    def claims_ended(self, queue_id: int, claims: int = 1) -> None:
        """Others may take their places."""
        queue = self._queue(queue_id)
        if queue is not None and queue.settings.max_in_flight is not None:
            self._places_are_free(queue_id, claims)
