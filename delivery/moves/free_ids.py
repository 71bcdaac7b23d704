"""IDs of messages that ended on this node, for those that are posted next.

They are kept in memory only. An ID is free once its message is gone, so the node that ended the message may use it, and
no statement has to keep a list. What is forgotten here is not used again until the queue has run empty: then the reaper
lets it start at 1 again, and post.sql takes no ID of a message from before that.

No index keeps two live messages from having the same ID (docs/decisions/no-index-on-ids.md), so an ID must be free for
sure. A crash of PostgreSQL can undo a finish that was not flushed yet, and it breaks every connection: whenever one has
to be opened again, all IDs are forgotten, also those of statements that are still under way.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

MOST_OF_A_QUEUE = 4_096  # IDs; a queue that had a backlog needs no more of them than it has messages under way
MOST_IN_ALL = 131_072  # IDs, about 15 MB
LONG_AGO = -1  # a moment whose IDs are all forgotten


class EndedMessage(Protocol):
    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...

    @property
    def index(self) -> int: ...


class FreeId(NamedTuple):
    """`former`: the index of the message that had it."""

    sequence: int | None
    former: int | None


NEW_ID = FreeId(None, None)


class FreeIds:
    def __init__(self) -> None:
        self._by_queue: dict[int, list[FreeId]] = {}
        self.count = 0
        self.moment = 0  # of the last time that all were forgotten

    def give(self, ended: Iterable[EndedMessage], moment: int) -> None:
        """IDs of messages that ended by a statement which began at this moment."""
        if moment != self.moment:
            return
        for message in ended:
            ids = self._by_queue.setdefault(message.queue_id, [])
            if len(ids) < MOST_OF_A_QUEUE and self.count < MOST_IN_ALL:
                ids.append(FreeId(message.sequence, message.index))
                self.count += 1

    def take(self, queue_id: int) -> FreeId:
        ids = self._by_queue.get(queue_id)
        if not ids:
            return NEW_ID
        self.count -= 1
        return ids.pop()

    def put_back(self, queue_id: int, one: FreeId, moment: int) -> None:
        """What was taken for a statement that stored nothing."""
        if one.sequence is not None and moment == self.moment:
            self._by_queue.setdefault(queue_id, []).append(one)
            self.count += 1

    def forget(self, queue_id: int) -> None:
        self.count -= len(self._by_queue.pop(queue_id, ()))

    def forget_all(self) -> None:
        self._by_queue.clear()
        self.count = 0
        self.moment += 1
