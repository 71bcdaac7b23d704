"""Posts on their way to the storage: how much there may be of them, and on which of two connections they go.

A body of megabytes takes PostgreSQL a while. Large posts go on a connection of their own, so that small ones of other
clients do not wait for them. The posts of one connection keep their order: behind a large one, the small ones go the
same way until it is stored.
"""

from collections import Counter, deque

from django.conf import settings

from delivery.moves.posting import PostRequest
from delivery.protocol.errors import Code, WillowError
from delivery.storage.lanes import Lane

LARGE_BYTES = 64 * 1024  # of one post, in all its queues
SMALL_BATCH_BYTES = 1024 * 1024  # of bodies in one statement
LARGE_BATCH_BYTES = 4 * 1024 * 1024  # likewise; a larger post goes alone
# Whoever has no more than this under way is never refused because others have too much.
LITTLE_BYTES = 1024 * 1024
LITTLE_SHARE = 128  # of the messages that may be under way in all: no more than one part in so many is little


def messages_in(request: object) -> int:
    """How many messages a request of one of these lanes brings into its statement."""
    return len(request.copies) if isinstance(request, PostRequest) else 1


class PostLanes:
    def __init__(self, small: Lane, large: Lane) -> None:
        self._small = small
        self._large = large
        self._most_copies = settings.WILLOW.node_commands
        self._most_bytes = settings.WILLOW.node_post_bytes
        self.copies = 0  # under way: messages that are being stored
        self.bytes = 0  # of replies, too
        self._by_queue: Counter[int] = Counter()  # copies
        self._small_copies: Counter[int] = Counter()  # by connection
        self._behind_large: dict[int, LargePosts] = {}  # by connection

    def is_on_its_way_to(self, queue_id: int) -> bool:
        return queue_id in self._by_queue

    def refusal(self, request: PostRequest) -> WillowError | None:
        """Why this node takes no more now, if it does not."""
        if self.copies >= self._most_copies and self._copies_with(request) > self._most_copies // LITTLE_SHARE:
            return _node_is_overloaded()
        return self.refusal_of_bytes(request.weight, request.poster.bytes_under_way)

    def refusal_of_bytes(self, size: int, by_client: int) -> WillowError | None:
        if self.bytes + size > self._most_bytes and size + by_client > LITTLE_BYTES:
            return _too_many_bytes()
        return None

    def _copies_with(self, request: PostRequest) -> int:
        """Those of its connection that are under way, and its own."""
        source, own = request.source, len(request.copies)
        if source is None:
            return own
        large = self._behind_large.get(source)
        return own + self._small_copies.get(source, 0) + (large.copies if large is not None else 0)

    def submit(self, request: PostRequest) -> None:
        self._count(request, 1)
        request.settled = self._settled
        if self._small.connected.is_set():
            request.poster.post_accepted(request)
        source, is_large = request.source, request.weight >= LARGE_BYTES
        if source is None:
            (self._large if is_large else self._small).submit(request)
        elif is_large or source in self._behind_large:
            self._behind_large.setdefault(source, LargePosts()).add(request)
            self._go_on(source)
        else:
            self._small_copies[source] += len(request.copies)
            self._small.submit(request)

    def _go_on(self, source: int) -> None:
        """Send the large posts of a connection, and what is behind them, once its small ones are stored."""
        posts = self._behind_large[source]
        while posts.waiting and source not in self._small_copies:
            posts.under_way += 1
            self._large.submit(posts.waiting.popleft())

    def _settled(self, request: PostRequest) -> None:
        self._count(request, -1)
        if (source := request.source) is None:
            return
        if source in self._small_copies:  # large ones have not begun before the last of these is over
            _less(self._small_copies, source, len(request.copies))
            if source in self._behind_large:
                self._go_on(source)
            return
        posts = self._behind_large[source]
        posts.under_way -= 1
        posts.copies -= len(request.copies)
        if not (posts.under_way or posts.waiting):
            self._behind_large.pop(source, None)

    def _count(self, request: PostRequest, times: int) -> None:
        self.copies += times * len(request.copies)
        self.bytes += times * request.weight
        for copy in request.copies:
            if times > 0:
                self._by_queue[copy.queue.id] += 1
            else:
                _less(self._by_queue, copy.queue.id, 1)


class LargePosts:
    """Of one connection, and the small ones behind them."""

    def __init__(self) -> None:
        self.under_way = 0
        self.copies = 0  # of these and of those that wait
        self.waiting: deque[PostRequest] = deque()

    def add(self, request: PostRequest) -> None:
        self.copies += len(request.copies)
        self.waiting.append(request)


def _less(counter: Counter[int], key: int, by: int) -> None:
    counter[key] -= by
    if not counter[key]:
        del counter[key]


def _node_is_overloaded() -> WillowError:
    most = settings.WILLOW.node_commands
    reason = f"This node has {most} messages of posts under way already, yours among them. Please try again."
    return WillowError(Code.OVERLOADED, "node", reason)


def _too_many_bytes() -> WillowError:
    most = settings.WILLOW.node_post_bytes
    reason = f"This node has posts and replies of {most} bytes under way already, yours among them. Please try again."
    return WillowError(Code.OVERLOADED, "node", reason)
