"""Where claims of a queue may begin to look (docs/decisions/floors-over-dead-index-entries.md)."""

import time

LOWEST_RANK = -(2**40)  # below every priority's
HIGHEST_RANK = 1  # above every priority's
FLOOR_SECONDS = 0.05  # how long a floor is trusted before somebody looks below it again


class Floors:
    """Where the last claim of each queue ended: what lies below was taken, unless it came back since.

    Only a hint, for speed: dead index entries gather below it until vacuum comes. Whatever this node makes ready below
    a floor removes it; what other nodes make ready there is found when the floor has grown old.
    """

    def __init__(self) -> None:
        self._floors: dict[int, tuple[int, int, float]] = {}
        self._came_in: dict[int, int] = {}  # of queues that are being read: the most urgent rank since that began

    def get(self, queue_id: int) -> tuple[int, int] | None:
        """Where a claim that begins now may start to look."""
        self._came_in[queue_id] = HIGHEST_RANK
        floor = self._floors.get(queue_id)
        if floor is None:
            return None
        rank, index, until = floor
        if time.monotonic() >= until:
            del self._floors[queue_id]
            return None
        return rank, index

    def raise_to(self, queue_id: int, rank: int, index: int) -> None:
        """A claim has ended here. It may not have seen what came in meanwhile."""
        if self._came_in.pop(queue_id, LOWEST_RANK) < rank:
            self._floors.pop(queue_id, None)
            return
        _, _, until = self._floors.get(queue_id, (0, 0, time.monotonic() + FLOOR_SECONDS))
        self._floors[queue_id] = (rank, index, until)

    def remove(self, queue_id: int) -> None:
        """The queue is gone, or everything about it is to be learned anew."""
        self._floors.pop(queue_id, None)
        self._came_in.pop(queue_id, None)

    def forget(self, queue_id: int) -> None:
        """Something came back, at whatever place."""
        self.lower_to(queue_id, LOWEST_RANK)

    def lower_to(self, queue_id: int, rank: int) -> None:
        """Something came in that may be more urgent than the floor."""
        if rank < self._came_in.get(queue_id, LOWEST_RANK):
            self._came_in[queue_id] = rank
        floor = self._floors.get(queue_id)
        if floor is not None and rank < floor[0]:
            del self._floors[queue_id]
