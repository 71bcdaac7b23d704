"""The posts of one connection, and what their poster is told."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from delivery.posting import PostRequest
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.fields import Stage
from delivery.protocol.frames import Notice, Post
from delivery.stages import FINISH, READY, SYNC, WRITE

if TYPE_CHECKING:
    from delivery.session import Session


class Posts:
    """The posts of one connection: how many are under way to each queue, and what waits for them."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._under_way: Counter[str] = Counter()  # by queue name
        self._afterwards: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)

    @property
    def session_id(self) -> int:
        return self._session.session_id

    def began(self, names: Iterable[str]) -> None:
        for name in names:
            self._under_way[name] += 1

    def then(self, name: str, action: Callable[[], None]) -> None:
        """Run when this connection's earlier posts to a queue are stored: its own reads must see them."""
        if name in self._under_way:
            self._afterwards[name].append(action)
        else:
            action()

    def post_accepted(self, request: PostRequest) -> None:
        if request.notify & READY:
            self._session.send(Notice(request.command.label, "ready"))

    def post_stored(self, request: PostRequest) -> None:
        several = len(request.copies) > 1
        stages: list[Stage] = []
        if request.notify & WRITE:
            stages.append("write")
        if request.notify & SYNC:
            stages.append("sync")
        for copy in request.copies if stages else ():
            name = copy.queue.name if several else None
            for stage in stages:
                self._session.send(Notice(request.command.label, stage, copy.queue.id, copy.sequence, copy.index, name))
        self.ended(request.command)

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
        if error is not None:
            self._session.refuse(command.label, error)
        self._session.ended()
        for name in command.queues:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]
                for action in self._afterwards.pop(name, ()):
                    action()
