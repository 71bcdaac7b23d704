"""Finding messages, a page at a time, without claiming or counting them.

A search walks along one index, queue by queue, and looks at each message that it passes. It stops when the page is
full, when there is nothing more, or when its time is over; then it says how many messages it has looked at, and
where it goes on. So neither a million messages nor a text that is in none of them can make a page slow.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from delivery.inspection.filters import MessageFilter
from delivery.inspection.index_walk import Scan, Wanted
from delivery.inspection.walks import Place, Walk, walk_for
from delivery.moves.states import State
from delivery.storage.reading import bounded_cursor
from delivery.storage.statements import statement
from queues.models import Kind, Queue

PAGE_ROWS = 50
BEGINNING_BYTES = 120  # that are shown of a body
SEARCH_SECONDS = 0.15  # that it may take to find a page
TEXT_SECONDS = 1.0  # the same where bodies have to be read


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """What is looked for. What is left out does not matter."""

    queue_id: int | None = None
    queue_name: str = ""  # `*` stands for any characters
    tags: tuple[str, ...] = ()  # a queue has all of them
    state: State | None = None
    sequence: int | None = None
    index: int | None = None
    older_than: timedelta | None = None
    younger_than: timedelta | None = None
    text: str = ""  # in the body, exactly so
    reason: str | None = None  # dead letters: why they died
    signature: str | None = None  # dead letters: what their errors have in common; empty: they have none
    backwards: bool = False  # in the opposite order

    @property
    def walk(self) -> Walk:
        return walk_for(self.state)


@dataclass(frozen=True, slots=True)
class MessageRow:
    queue_id: int
    queue_name: str
    queue_tags: list[str]
    sequence: int
    index: int
    state: State
    priority: int
    attempts: int
    posted_at: datetime
    available_at: datetime | None
    expires_at: datetime | None
    key: str | None
    holder: int | None
    holder_name: str | None
    lease_until: datetime | None
    last_error: str | None
    last_client: str | None
    dead_reason: str | None
    died_at: datetime | None
    size: int
    beginning: bytes | None  # of the body; None: whoever asks may not see bodies


@dataclass(frozen=True, slots=True)
class MessagePage:
    rows: list[MessageRow]
    previous: Place | None  # the page before this one ends before it
    next: Place | None  # the page after this one begins after it
    looked_at: int  # messages
    stopped: bool  # the time was over before the page was full


def search_messages(
    query: MessageQuery, *, after: Place | None = None, before: Place | None = None, with_bodies: bool = False
) -> MessagePage:
    """The page after a place, or before it; or the first page."""
    going_back = before is not None
    start = before if going_back else after
    descending = query.backwards is not going_back
    scan = Scan(
        walk=query.walk,
        wanted=_wanted(query),
        queue_ids=_queue_ids(query, start, descending),
        descending=descending,
        start=start,
        enough=PAGE_ROWS + 1,  # one more tells whether there is another page
        seconds=TEXT_SECONDS if query.text else SEARCH_SECONDS,
    )
    scan.run()
    return _page_of(scan, going_back, with_bodies)


def _page_of(scan: Scan, going_back: bool, with_bodies: bool) -> MessagePage:
    shown = scan.found[:PAGE_ROWS]
    onwards = scan.reached if scan.stopped else None
    if len(scan.found) > PAGE_ROWS:
        onwards = shown[-1][0]
    backwards = (shown[0][0] if shown else scan.start) if scan.start else None
    if going_back:
        shown.reverse()
        onwards, backwards = backwards, onwards
    return MessagePage(_rows(shown, with_bodies), backwards, onwards, scan.looked_at, scan.stopped)


def _rows(found: list[tuple[Place, int]], with_bodies: bool) -> list[MessageRow]:
    values: dict[str, Any] = {
        "queue_id": [place.queue_id for place, _ in found],
        "sequence": [sequence for _, sequence in found],
        "with_bodies": with_bodies,
        "bytes": BEGINNING_BYTES,
    }
    with bounded_cursor() as cursor:
        cursor.execute(statement("message_rows"), values)
        return [_row(columns) for columns in cursor.fetchall()]


def _row(columns: tuple[Any, ...]) -> MessageRow:
    row = MessageRow(*columns)
    return replace(row, state=State(row.state), beginning=None if row.beginning is None else bytes(row.beginning))


def _wanted(query: MessageQuery) -> Wanted:
    narrowing, hit = ["true"], ["true"]
    if query.sequence is not None:
        narrowing.append("sequence = %(sequence)s")
    if query.index is not None:
        narrowing.append("index = %(index)s")
    if query.state is not None:
        hit.append("state = %(state)s")
    if query.older_than is not None:
        hit.append("posted_at <= now() - %(older_than)s")
    if query.younger_than is not None:
        hit.append("posted_at >= now() - %(younger_than)s")
    if query.reason is not None:
        hit.append("dead_reason = %(reason)s")
    if query.signature is not None:
        hit.append("willow_error_signature(last_error) = %(signature)s")
    if query.text:
        hit.append("position(%(text)s::bytea IN body) > 0")
    values = {
        "sequence": query.sequence,
        "index": query.index,
        "state": query.state,
        "older_than": query.older_than,
        "younger_than": query.younger_than,
        "reason": query.reason,
        "signature": query.signature,
        "text": query.text.encode(),
    }
    return Wanted(" AND ".join(narrowing), " AND ".join(hit), values)


def filter_of(query: MessageQuery) -> MessageFilter:
    """The same messages, as delivery/operating takes them. Ages are counted from now on."""
    now = timezone.now()
    index: dict[str, Any] = {} if query.index is None else {"index_from": query.index, "index_to": query.index}
    return MessageFilter(
        queue_ids=tuple(_queue_ids(query, None, descending=False)),
        states=frozenset() if query.state is None else frozenset({query.state}),
        sequence=query.sequence,
        posted_before=None if query.older_than is None else now - query.older_than,
        posted_after=None if query.younger_than is None else now - query.younger_than,
        text=query.text or None,
        reason=query.reason,
        signature=query.signature,
        **index,
    )


def _queue_ids(query: MessageQuery, start: Place | None, descending: bool) -> list[int]:
    """The queues to look into, in the order of the walk, from the place on."""
    queues = _queues(query)
    if start is not None:
        queues = queues.filter(pk__lte=start.queue_id) if descending else queues.filter(pk__gte=start.queue_id)
    with bounded_cursor():
        return list(queues.order_by("-pk" if descending else "pk").values_list("pk", flat=True))


def _queues(query: MessageQuery) -> QuerySet[Queue]:
    queues = Queue.objects.all()
    if query.queue_id is not None:
        queues = queues.filter(pk=query.queue_id)
    if "*" in query.queue_name:
        queues = queues.filter(name__regex="^" + re.escape(query.queue_name).replace(r"\*", ".*") + "$")
    elif query.queue_name:
        queues = queues.filter(name=query.queue_name)
    if query.tags:
        queues = queues.filter(tags__contains=list(query.tags))
    if query.state == State.RETAINED:  # the one state that no index is kept for: it is that of every message there
        queues = queues.filter(kind=Kind.STREAM)
    return queues
