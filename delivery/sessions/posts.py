"""The posts of one connection, and what their poster is told."""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from delivery.moves.posting import Copy, PostRequest
from delivery.protocol.commands import Post
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Stage
from delivery.protocol.frames import Notice
from delivery.storage.vocabulary import FINISH, READY, SYNC, WRITE

if TYPE_CHECKING:
    from delivery.sessions.session import Session


class Posts:
    """The posts of one connection: which are under way to each queue, and what waits for them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._begun = 0
        self._sizes: dict[int, int] = {}  # in bytes, of the posts that are under way
        # By queue name: the number of each post among all of this connection, the oldest first.
        self._under_way: defaultdict[str, dict[int, int]] = defaultdict(dict)
        # By queue name: what runs when the posts up to a number are over.
        self._afterwards: defaultdict[str, deque[tuple[int, Callable[[], None]]]] = defaultdict(deque)

    @property
    def session_id(self) -> int:
        return self._session.session_id

    @property
    def key_id(self) -> int | None:
        return self._session.principal.key_id

    @property
    def bytes_under_way(self) -> int:
        return self._session.under_way.bytes

    def began(self, command: Post, size: int) -> None:
        """`size`: in bytes, in all its queues."""
        number = id(command)
        self._session.under_way.began(size)
        self._sizes[number] = size
        self._begun += 1
        for name in command.queues:
            self._under_way[name][number] = self._begun

    def then(self, name: str, action: Callable[[], None]) -> None:
        """Run when this connection's earlier posts to a queue are stored: its own reads must see them.

        Later ones do not count: a client that never stops posting reads all the same.
        """
        if name in self._under_way:
            self._afterwards[name].append((self._begun, action))
        else:
            action()

    def post_accepted(self, request: PostRequest) -> None:
        """A post that may be a repeat hears `ready` when it is known whether it is."""
        if request.notify & READY and not _may_repeat(request.command):
            self._tell_ready(request)

    def _tell_ready(self, request: PostRequest) -> None:
        several = len(request.copies) > 1
        for copy in request.copies:
            name = copy.queue.name if several else None
            lives = (
                copy.is_repeat and request.command.unique is not None
            )  # a repeat by `dedupe` hears the ID with `write`
            shard, sequence, index = (copy.queue.id, copy.sequence, copy.index) if lives else (None, None, None)
            self._session.send(
                Notice(request.command.label, "ready", shard, sequence, index, name, duplicate=copy.is_repeat)
            )

    def post_stored(self, request: PostRequest) -> None:
        if request.notify & READY and _may_repeat(request.command):
            self._tell_ready(request)
        stages: list[Stage] = []
        if request.notify & WRITE:
            stages.append("write")
        if request.notify & SYNC:
            stages.append("sync")
        for copy in request.copies if stages else ():
            self._tell_stored(request, copy, stages)
        self.ended(request.command)

    def _tell_stored(self, request: PostRequest, copy: Copy, stages: list[Stage]) -> None:
        name = copy.queue.name if len(request.copies) > 1 else None
        for stage in stages:
            self._session.send(
                Notice(
                    request.command.label,
                    stage,
                    copy.queue.id,
                    copy.sequence,
                    copy.index,
                    name,
                    duplicate=copy.is_repeat,
                )
            )

    def post_handed_over(self, request: PostRequest) -> None:
        if request.notify & (READY | FINISH):
            copy = request.copies[0]
            self._session.send(Notice(request.command.label, "finish", copy.queue.id, copy.sequence, copy.index))
        self.ended(request.command)

    def post_failed(self, request: PostRequest, error: WillowError) -> None:
        if error.code == Code.NO_OBJECT:
            for copy in request.copies:
                self._session.node.directory.forget(copy.queue.id)
        self.ended(request.command, error)

    def ended(self, command: Post, error: WillowError | None = None) -> None:
        """Called once for each post that began."""
        if error is not None:
            self._session.refuse(command.label, error)
        number = id(command)
        self._session.under_way.ended(self._sizes.pop(number))
        for name in command.queues:
            under_way = self._under_way[name]
            del under_way[number]
            if not under_way:
                del self._under_way[name]
            if name in self._afterwards:
                self._let_through(name, oldest=next(iter(under_way.values()), self._begun + 1))

    def _let_through(self, name: str, oldest: int) -> None:
        """Run what waited only for posts before the oldest that is still under way."""
        waiting = self._afterwards[name]
        while waiting and waiting[0][0] < oldest:
            waiting.popleft()[1]()
        if not waiting and self._afterwards.get(name) is waiting:  # what ran may have begun another one
            del self._afterwards[name]


def _may_repeat(command: Post) -> bool:
    return command.dedupe is not None or command.unique is not None
