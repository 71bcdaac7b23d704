"""The messages of streams on this node: one read of the database serves every reader at the same index."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg import AsyncConnection

from delivery.moves.claims import is_cut
from delivery.protocol.sizes import bytes_of_headers
from delivery.storage.columns import BigintColumn
from delivery.storage.lanes import Job, Lane
from delivery.storage.statements import statement

CACHED_MESSAGES = 1024  # of the newest of each stream, for readers that keep up
CACHED_BYTES = 8 * 1024 * 1024
ALL_CACHED_BYTES = 64 * 1024 * 1024  # of all streams of this process together
READ_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class StreamMessage:
    index: int
    sequence: int
    priority: int
    body: bytes
    headers: dict[str, str] | None
    group_key: str | None

    @property
    def size(self) -> int:
        """In memory, roughly."""
        return len(self.body) + bytes_of_headers(self.headers)


@dataclass(frozen=True, slots=True)
class Found:
    """Messages by their indexes. What is missing up to `looked_up_to` is gone; what is above it was not looked for."""

    messages: dict[int, StreamMessage]
    looked_up_to: int


class Wakeable(Protocol):
    """A reader of the stream."""

    def pump(self) -> None:
        """There may be new messages."""


class StreamFeed:
    """The messages of one stream, for all its readers on this node."""

    def __init__(self, queue_id: int, lane: Lane, most_cached: Callable[[], int]) -> None:
        self._readers: set[Wakeable] = set()
        self._queue_id = queue_id
        self._lane = lane
        self._most_cached = most_cached  # bytes
        self._cached: deque[StreamMessage] = deque()
        self._cached_bytes = 0
        self._asked: dict[int, list[Callable[[list[StreamMessage]], None]]] = {}  # by the index to read after

    def join(self, reader: Wakeable) -> None:
        self._readers.add(reader)

    def leave(self, reader: Wakeable) -> None:
        self._readers.discard(reader)
        if not self._readers:
            self._cached.clear()
            self._cached_bytes = 0

    def wake(self) -> None:
        for reader in list(self._readers):
            reader.pump()

    def messages_after(self, index: int, most: int, then: Callable[[list[StreamMessage]], None]) -> None:
        """Find what follows an index. Readers at the same index share one read."""
        if self._cached and self._cached[0].index <= index + 1 <= self._cached[-1].index:
            first = bisect_right(self._cached, index, key=lambda message: message.index)
            then([self._cached[at] for at in range(first, min(first + most, len(self._cached)))])
            return
        if index in self._asked:
            self._asked[index].append(then)
            return
        self._asked[index] = [then]

        async def read(connection: AsyncConnection[Any]) -> list[StreamMessage]:
            parameters = {"queue_id": self._queue_id, "after": index, "limit": READ_AT_ONCE}
            cursor = await connection.execute(statement("read_stream"), parameters, binary=True)
            return [StreamMessage(*row) for row in await cursor.fetchall()]

        self._lane.submit(Job(read, lambda messages: self._answer(index, messages), lambda _: self._answer(index, [])))

    def messages_at(self, indexes: Sequence[int], then: Callable[[Found], None]) -> None:
        """Find messages that a reader has had already."""
        if (cached := self._all_cached(indexes)) is not None:
            then(Found(cached, looked_up_to=max(indexes)))
            return

        async def read(connection: AsyncConnection[Any]) -> list[StreamMessage]:
            parameters = {"queue_id": self._queue_id, "index": BigintColumn(indexes)}
            cursor = await connection.execute(statement("read_stream_again"), parameters, binary=True)
            return [StreamMessage(*row) for row in await cursor.fetchall()]

        def answer(messages: list[StreamMessage]) -> None:
            last = messages[-1].index if messages and is_cut(messages) else max(indexes)
            then(Found({message.index: message for message in messages}, looked_up_to=last))

        self._lane.submit(Job(read, answer, lambda _: then(Found({}, looked_up_to=0))))

    def _all_cached(self, indexes: Sequence[int]) -> dict[int, StreamMessage] | None:
        """By index, if they are all in the cache, whose indexes follow each other without a gap."""
        if not self._cached or min(indexes) < self._cached[0].index or max(indexes) > self._cached[-1].index:
            return None
        return {index: self._cached[index - self._cached[0].index] for index in indexes}

    def _answer(self, index: int, messages: list[StreamMessage]) -> None:
        self._cache(messages)
        for then in self._asked.pop(index):
            then(messages)

    def _cache(self, messages: list[StreamMessage]) -> None:
        """Keep what directly follows the newest known message; after a gap the cache starts again."""
        for message in messages:
            if not self._readers or (self._cached and message.index <= self._cached[-1].index):
                continue
            if self._cached and message.index != self._cached[-1].index + 1:
                self._cached.clear()
                self._cached_bytes = 0
            self._cached.append(message)
            self._cached_bytes += message.size
            while len(self._cached) > CACHED_MESSAGES or self._cached_bytes > self._most_cached():
                self._cached_bytes -= self._cached.popleft().size


class StreamFeeds:
    """The feeds of all streams that somebody on this node reads."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._feeds: dict[int, StreamFeed] = {}  # by queue

    def __iter__(self) -> Iterator[int]:
        return iter(self._feeds)

    def of(self, queue_id: int) -> StreamFeed:
        return self._feeds.setdefault(queue_id, StreamFeed(queue_id, self._lane, self._most_cached_each))

    def _most_cached_each(self) -> int:
        return min(CACHED_BYTES, ALL_CACHED_BYTES // len(self._feeds))

    def wake(self, queue_id: int) -> None:
        if (feed := self._feeds.get(queue_id)) is not None:
            feed.wake()
