"""Storing posts. A batch of plain ones is a single statement; what needs a look at its queue goes by admission.py."""

import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from operator import itemgetter, or_
from typing import Any, NamedTuple, Protocol

from django.conf import settings
from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation

from delivery.moves.free_ids import LONG_AGO, NEW_ID, FreeId, FreeIds
from delivery.moves.groups import Group, arranging, made_ready
from delivery.moves.notify import label_to_column, notify_mask
from delivery.protocol.commands import Post
from delivery.protocol.errors import Code, WillowError
from delivery.protocol.sizes import bytes_of_copy, bytes_of_headers
from delivery.storage.advisory_locks import group_lock, taking
from delivery.storage.columns import BigintColumn, ByteaColumn, Float8Column, TextColumn
from delivery.storage.connection import fetch_batch
from delivery.storage.statement_connection import Statement, StatementConnection
from delivery.storage.statements import statement
from delivery.storage.vocabulary import NAMED_SEVERAL, READY, REQUEST, SYNC, WRITE
from queues.definitions import QueueRecord

STAGES_OF_PERSISTENCE = READY | WRITE | SYNC

# What posts have that most have not, as bits: of a batch it is known with one look at each which statement it needs.
NEEDS_A_LOOK, HAS_DEDUPE, IN_GROUP, HAS_EXTRAS = 1, 2, 4, 8


class Poster(Protocol):
    """Whoever posts: it is told where its messages went, or why they went nowhere."""

    @property
    def session_id(self) -> int | None: ...

    @property
    def key_id(self) -> int | None:
        """Its key; 0: what it posts counts for all who have none."""

    @property
    def bytes_under_way(self) -> int:
        """Of all its posts."""

    def post_accepted(self, request: "PostRequest") -> None: ...

    def post_stored(self, request: "PostRequest") -> None: ...

    def post_handed_over(self, request: "PostRequest") -> None: ...

    def post_failed(self, request: "PostRequest", error: WillowError) -> None: ...


class NobodyPosts:
    """The poster of dead letters and of messages that change queues: it wants no notices."""

    session_id = None
    key_id = None
    bytes_under_way = 0

    def post_accepted(self, request: "PostRequest") -> None: ...

    def post_stored(self, request: "PostRequest") -> None: ...

    def post_handed_over(self, request: "PostRequest") -> None: ...

    def post_failed(self, request: "PostRequest", error: WillowError) -> None: ...


class Copy:
    """One message of a post: a post to several queues has a copy in each."""

    __slots__ = ("index", "is_repeat", "queue", "request", "sequence")

    def __init__(self, request: "PostRequest", queue: QueueRecord) -> None:
        self.request = request
        self.queue = queue
        self.sequence = 0
        self.index = 0
        self.is_repeat = False  # not stored: its numbers are those of the message that it repeats

    @property
    def group(self) -> Group | None:
        group = self.request.command.group
        return None if group is None else Group(self.queue.id, group)


class PostRequest:
    """A post; or a request to a service, which chooses how long a worker may take and awaits a reply."""

    __slots__ = (
        "command",
        "copies",
        "headers",
        "label",
        "may_exceed",
        "notify",
        "poster",
        "poster_key",
        "settled",
        "source",
        "synchronous",
        "traits",
        "weight",
        "work_timeout",
    )

    def __init__(
        self,
        poster: Poster,
        command: Post,
        queues: Sequence[QueueRecord],
        *,
        awaits_reply: bool = False,
        work_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        may_exceed: bool = False,
    ) -> None:
        self.poster = poster
        self.command = command
        self.headers = headers or command.headers or None  # the broker's own are not of a command
        self.label = label_to_column(command.label)
        self.notify = notify_mask(command.notify) | (NAMED_SEVERAL if len(queues) > 1 else 0)
        if awaits_reply:
            self.notify |= REQUEST
        self.work_timeout = work_timeout
        self.may_exceed = may_exceed  # the bound of its queue: nobody is there whom a refusal could reach
        # A post that names no stage of persistence is stored as safely as one that asks for `sync`.
        self.synchronous = bool(self.notify & SYNC) or not self.notify & STAGES_OF_PERSISTENCE
        self.copies = [Copy(self, queue) for queue in queues]
        own_headers = bytes_of_headers(headers) if headers else 0
        self.weight = (bytes_of_copy(command) + own_headers) * len(queues)  # bytes to store
        # Who may ask for the reply. Known by the session, too, but sessions are forgotten, and HTTP has none.
        needs_key = poster.session_id is None or any(queue.settings.keep_replies for queue in queues)
        self.poster_key = poster.key_id if needs_key else None
        self.source = poster.session_id
        self.traits = self._traits()
        self.settled: Callable[[PostRequest], None] | None = None  # called once, before the poster is told

    def _traits(self) -> int:
        command, traits = self.command, 0
        if len(self.copies) > 1 or not self.copies[0].queue.is_plain or command.unique is not None:
            traits = NEEDS_A_LOOK
        if command.dedupe is not None:
            traits |= HAS_DEDUPE
        if command.group is not None:
            traits |= IN_GROUP
        has_key_or_headers = self.poster_key is not None or self.headers is not None
        if has_key_or_headers or command.group is not None or command.unique is not None:
            traits |= HAS_EXTRAS
        return traits

    @property
    def is_plain(self) -> bool:
        """Stored without a look at what its queue holds, unless its dedupe text turns out to be known."""
        return not self.traits & NEEDS_A_LOOK

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


def traits_of(requests: Iterable[PostRequest]) -> int:
    """Those that any of them has."""
    return reduce(or_, [request.traits for request in requests])


class Taker(Protocol):
    """Somebody for whom a message may be claimed as it is stored."""

    @property
    def session_id(self) -> int: ...

    @property
    def work_timeout(self) -> float | None: ...

    @property
    def index_before(self) -> int:
        """The newest index of the queue when it was known to be empty."""


Takers = Mapping[Copy, Taker]
NOBODY: Takers = {}


class Stored(NamedTuple):
    """A row of `post`. `holder`: who has claimed it as it was stored, for `work_timeout` seconds."""

    queue_id: int
    sequence: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    holder: int | None
    work_timeout: float | None


@dataclass(slots=True)
class Inserted:
    """What became of copies that were to be stored."""

    missing: list[Copy] = field(default_factory=list)  # their queue is gone
    claimed: dict[Copy, float] = field(default_factory=dict)  # by their takers, for so many seconds


async def insert_copies(
    connection: AsyncConnection[Any],
    copies: Sequence[Copy],
    node_id: int | None,
    takers: Takers = NOBODY,
    free_ids: FreeIds | None = None,
    *,
    once: bool = False,
    has_group_locks: bool = False,
) -> Inserted:
    """Store copies at the end of their queues and give them their numbers.

    `once` remembers their dedupe texts too. If one of these is known, UniqueViolation is raised and nothing stored.
    `has_group_locks`: the caller holds the locks of their groups, so it can be said which may go.
    """

    async def run(ids: Sequence[FreeId]) -> list[Stored]:
        posting = _posting(copies, ids, node_id, takers, once=once, has_group_locks=has_group_locks)
        return await fetch_batch(connection, *posting)

    return await _with_ids(copies, free_ids, run)


async def store_in_groups(
    connection: StatementConnection, copies: Sequence[Copy], node_id: int, free_ids: FreeIds, *, once: bool
) -> tuple[Inserted, Counter[int]]:
    """As `insert_copies`, of copies of which some belong to groups. By queue also: how many older ones they let go."""
    urgent = urgent_groups(copies)
    ready: Counter[int] = Counter()

    async def run(ids: Sequence[FreeId]) -> list[Stored]:
        locking = taking(group_lock(*group) for copy in copies if (group := copy.group) is not None)
        posting = _posting(copies, ids, node_id, once=once, has_group_locks=True)
        steps = [locking, posting, arranging(urgent)] if urgent else [locking, posting]
        _, rows, *arranged = await connection.rows_of_all(steps)
        for one in arranged:
            ready.update(made_ready(one))
        return rows

    return await _with_ids(copies, free_ids, run), ready


def urgent_groups(copies: Iterable[Copy]) -> set[Group]:
    """Of messages that go before those of their group that came earlier, if nobody has these yet."""
    urgent = (copy.group for copy in copies if copy.request.command.priority > 0)
    return {group for group in urgent if group is not None}


async def _with_ids(
    copies: Sequence[Copy], free_ids: FreeIds | None, run: Callable[[Sequence[FreeId]], Awaitable[list[Stored]]]
) -> Inserted:
    """Store copies with IDs that are free, which stay free if a dedupe text is known."""
    moment = free_ids.moment if free_ids else LONG_AGO
    ids = [free_ids.take(copy.queue.id) for copy in copies] if free_ids else [NEW_ID] * len(copies)
    try:
        return _numbered(copies, await run(ids))
    except UniqueViolation:
        for copy, one in zip(copies, ids, strict=True):
            if free_ids:
                free_ids.put_back(copy.queue.id, one, moment)
        raise


def _posting(
    copies: Sequence[Copy],
    ids: Sequence[FreeId],
    node_id: int | None,
    takers: Takers = NOBODY,
    *,
    once: bool,
    has_group_locks: bool,
) -> Statement:
    has_extras = traits_of(copy.request for copy in copies) & HAS_EXTRAS
    if len(copies) == 1 and not has_extras:
        values = _message_values(copies[0], ids[0], node_id, takers.get(copies[0]))
        return Statement(statement("post_one_once") if once else statement("post_one"), values, Stored)
    columns = message_columns(copies, node_id, takers) | _dedupe_column(copies, remembered=once)
    if not has_extras and all(copy.queue.id == copies[0].queue.id for copy in copies):
        columns |= {"queue_id": copies[0].queue.id} | _ids_of_one_queue(ids)
        return Statement(statement("post_once_to_one") if once else statement("post_to_one"), columns, Stored)
    columns |= {
        "sequence": BigintColumn([one.sequence for one in ids]),
        "former": BigintColumn([one.former for one in ids]),
    }
    if has_extras:
        columns |= extra_columns(copies) | {"decided": has_group_locks}
        return Statement(statement("post_with"), columns, Stored)
    return Statement(statement("post_once") if once else statement("post"), columns, Stored)


def _ids_of_one_queue(ids: Sequence[FreeId]) -> dict[str, Any]:
    """For post_to_one.sql: the IDs that are free, and a number below zero for each that is to be new."""
    new = count(-1, -1)
    return {
        "sequence": BigintColumn([next(new) if one.sequence is None else one.sequence for one in ids]),
        "oldest": min((one.former for one in ids if one.former is not None), default=None),
        "fresh": -next(new) - 1,
        "messages": len(ids),
    }


def _numbered(copies: Sequence[Copy], rows: Sequence[Stored]) -> Inserted:
    by_queue: dict[int, list[Stored]] = defaultdict(list)
    for row in rows:
        by_queue[row.queue_id].append(row)
    for given in by_queue.values():
        given.sort(key=_index, reverse=True)
    inserted = Inserted()
    for copy in copies:
        if given := by_queue[copy.queue.id]:
            _, copy.sequence, copy.index, holder, lease = given.pop()
            if holder is not None and lease is not None:
                inserted.claimed[copy] = lease
        else:
            inserted.missing.append(copy)
    return inserted


_index = itemgetter(2)


def message_columns(copies: Sequence[Copy], node_id: int | None, takers: Takers = NOBODY) -> dict[str, Any]:
    requests = [copy.request for copy in copies]
    commands = [request.command for request in requests]
    taken_by = [takers.get(copy) for copy in copies] if takers else [None] * len(copies)
    return {
        "queue_id": BigintColumn([copy.queue.id for copy in copies]),
        "priority": BigintColumn([command.priority for command in commands]),
        "body": ByteaColumn([command.message for command in commands]),
        "delay": Float8Column([command.delay for command in commands]),
        "ttl": Float8Column([command.ttl for command in commands]),
        "key": TextColumn([command.key for command in commands]),
        "poster": BigintColumn([request.source for request in requests]),
        "label": BigintColumn([request.label for request in requests]),
        "notify": BigintColumn([request.notify for request in requests]),
        "work_timeout": Float8Column(
            [(one or request).work_timeout for one, request in zip(taken_by, requests, strict=True)]
        ),
        "holder": BigintColumn([taker and taker.session_id for taker in taken_by]),
        "index_before": BigintColumn([taker and taker.index_before for taker in taken_by]),
        "node": node_id,
    }


def _dedupe_column(copies: Sequence[Copy], *, remembered: bool) -> dict[str, Any]:
    return {
        "dedupe": TextColumn([copy.request.command.dedupe if remembered else None for copy in copies]),
        "dedupe_seconds": settings.WILLOW.dedupe_seconds,
    }


def extra_columns(copies: Sequence[Copy]) -> dict[str, Any]:
    """What of a message most have not."""
    requests = [copy.request for copy in copies]
    return {
        "headers": TextColumn([written_headers(request.headers) for request in requests]),
        "group_key": TextColumn([request.command.group for request in requests]),
        "unique_key": TextColumn([request.command.unique for request in requests]),
        "poster_key": BigintColumn([request.poster_key for request in requests]),
    }


def written_headers(headers: Mapping[str, str] | None) -> str | None:
    return None if headers is None else json.dumps(headers)


def _message_values(copy: Copy, free: FreeId, node_id: int | None, taker: Taker | None) -> dict[str, Any]:
    """For post_one.sql and post_one_once.sql, what `message_columns` is for post.sql."""
    request, command = copy.request, copy.request.command
    return {
        "queue_id": copy.queue.id,
        "sequence": free.sequence,
        "former": free.former,
        "priority": command.priority,
        "body": command.message,
        "delay": command.delay,
        "ttl": command.ttl,
        "key": command.key,
        "poster": request.source,
        "label": request.label,
        "notify": request.notify,
        "work_timeout": (taker or request).work_timeout,
        "holder": taker and taker.session_id,
        "index_before": taker and taker.index_before,
        "node": node_id,
        "dedupe": command.dedupe,
        "dedupe_seconds": settings.WILLOW.dedupe_seconds,
    }


def queue_is_gone(queue: QueueRecord) -> WillowError:
    return WillowError(Code.NO_OBJECT, queue.name, f"The queue {queue.name} was deleted.")
