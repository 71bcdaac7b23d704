"""IDs of messages that ended on this node, for those that are posted next.

They are kept in memory only. An ID is free once its message is gone, so the node that ended the message may use it, and
no statement has to keep a list. What is forgotten here is not used again until the queue has run empty: then the reaper
lets it start at 1 again. An ID may turn out to be taken, because a crash of PostgreSQL undid a finish that was not
flushed yet. The message's primary key refuses it.
"""

from collections.abc import Iterable
from typing import Protocol

MOST_OF_A_QUEUE = 4_096  # IDs; a queue that had a backlog needs no more of them than it has messages under way
MOST_IN_ALL = 131_072  # IDs, about 5 MB


class EndedMessage(Protocol):
    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...


class FreeIds:
    def __init__(self) -> None:
        self._by_queue: dict[int, list[int]] = {}
        self.count = 0

    def give(self, ended: Iterable[EndedMessage]) -> None:
        for message in ended:
            ids = self._by_queue.setdefault(message.queue_id, [])
            if len(ids) < MOST_OF_A_QUEUE and self.count < MOST_IN_ALL:
                ids.append(message.sequence)
                self.count += 1

    def take(self, queue_id: int) -> int | None:
        ids = self._by_queue.get(queue_id)
        if not ids:
            return None
        self.count -= 1
        return ids.pop()

    def forget(self, queue_id: int) -> None:
        self.count -= len(self._by_queue.pop(queue_id, ()))
