"""Storing posts. A batch of plain ones is a single statement; what needs a look at its queue goes by admission.py."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from psycopg import AsyncConnection

from delivery.arrays import BigintColumn, ByteaColumn, Float8Column, TextColumn
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.frames import Post
from delivery.stages import NAMED_SEVERAL, READY, REQUEST, SYNC, WRITE, label_to_column, notify_mask
from delivery.statements import statement
from queues.definitions import QueueRecord

STAGES_OF_PERSISTENCE = READY | WRITE | SYNC


class Poster(Protocol):
    """Whoever posts: it is told where its messages went, or why they went nowhere."""

    @property
    def session_id(self) -> int | None: ...

    def post_accepted(self, request: "PostRequest") -> None: ...

    def post_stored(self, request: "PostRequest") -> None: ...

    def post_handed_over(self, request: "PostRequest") -> None: ...

    def post_failed(self, request: "PostRequest", error: WillowError) -> None: ...


class Copy:
    """One message of a post: a post to several queues has a copy in each."""

    __slots__ = ("index", "queue", "request", "sequence")

    def __init__(self, request: "PostRequest", queue: QueueRecord) -> None:
        self.request = request
        self.queue = queue
        self.sequence = 0
        self.index = 0


class PostRequest:
    """A post; or a request to a service, which chooses how long a worker may take and awaits a reply."""

    __slots__ = ("command", "copies", "label", "notify", "poster", "settled", "synchronous", "work_timeout")

    def __init__(
        self,
        poster: Poster,
        command: Post,
        queues: Sequence[QueueRecord],
        *,
        awaits_reply: bool = False,
        work_timeout: float | None = None,
    ) -> None:
        self.poster = poster
        self.command = command
        self.label = label_to_column(command.label)
        self.notify = notify_mask(command.notify) | (NAMED_SEVERAL if len(queues) > 1 else 0)
        if awaits_reply:
            self.notify |= REQUEST
        self.work_timeout = work_timeout
        # A post that names no stage of persistence is stored as safely as one that asks for `sync`.
        self.synchronous = bool(self.notify & SYNC) or not self.notify & STAGES_OF_PERSISTENCE
        self.copies = [Copy(self, queue) for queue in queues]
        self.settled: Callable[[PostRequest], None] | None = None  # called once, before the poster is told

    @property
    def is_plain(self) -> bool:
        return len(self.copies) == 1 and self.command.dedupe is None and self.copies[0].queue.is_plain

    def store_done(self) -> None:
        if self.settled is not None:
            self.settled(self)
        self.poster.post_stored(self)
        self.copies = []  # they point back here: left alone, the circle would wait for the garbage collector

    def fail(self, error: WillowError) -> None:
        if self.settled is not None:
            self.settled(self)
        self.poster.post_failed(self, error)
        self.copies = []


async def insert_copies(connection: AsyncConnection[Any], copies: Sequence[Copy], node_id: int | None) -> list[Copy]:
    """Store copies at the end of their queues and give them their numbers. Returns those whose queue is gone."""
    cursor = await connection.execute(statement("post"), message_columns(copies, node_id), binary=True)
    numbers: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for queue_id, sequence, index in await cursor.fetchall():
        numbers[queue_id].append((index, sequence))
    for given in numbers.values():
        given.sort(reverse=True)
    missing = []
    for copy in copies:
        if given := numbers[copy.queue.id]:
            copy.index, copy.sequence = given.pop()
        else:
            missing.append(copy)
    return missing


def message_columns(copies: Sequence[Copy], node_id: int | None) -> dict[str, Any]:
    requests = [copy.request for copy in copies]
    commands = [request.command for request in requests]
    return {
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "priority": BigintColumn([command.priority for command in commands]),
        "body": ByteaColumn([command.message for command in commands]),
        "delay": Float8Column([command.delay for command in commands]),
        "ttl": Float8Column([command.ttl for command in commands]),
        "key": TextColumn([command.key for command in commands]),
        "poster": BigintColumn([request.poster.session_id for request in requests]),
        "label": BigintColumn([request.label for request in requests]),
        "notify": BigintColumn([request.notify for request in requests]),
        "work_timeout": Float8Column([request.work_timeout for request in requests]),
        "node": node_id,
    }


def queue_is_gone(queue: QueueRecord) -> WillowError:
    return WillowError(Code.NO_OBJECT, queue.name, f"The queue {queue.name} was deleted.")
