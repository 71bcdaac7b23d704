"""Finding messages, a page at a time, without claiming or counting them: for the console, REST, actions and redrives.

A search walks along one index, queue by queue, and looks at each message that it passes. It stops when the page is
full, when there is nothing more, or when its time is over; then it says how many messages it has looked at, and
where it goes on. So neither a million messages nor a text that is in none of them can make a page slow.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.inspection.filters import MessageFilter
from delivery.inspection.index_walk import BY_INDEX, FIRST_STEP, IndexOrder, IndexWalk, MessageCursor
from delivery.moves.message_id import MessageId, id_columns, with_indexes
from delivery.moves.states import State
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.pages import Cursor, Page, Row
from delivery.storage.statements import statement
from queues.integer_ranges import INTEGER_MAX

SEARCH_SECONDS = 0.15  # that it may take to find a page for a person
TEXT_SECONDS = 1.0  # the same where bodies have to be read, and for programs
READ_SECONDS = 10.0  # that it may take to read what was found, bodies included
WHOLE_BODY = INTEGER_MAX  # bytes: more than a body can have
REDRIVE_STEP = 5000  # messages that one step of a redrive looks at


@dataclass(frozen=True, slots=True)
class SearchPage(Page[Row]):
    looked_at: int  # messages
    stopped: bool  # the time was over before the page was full


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message with its queue and its holder, as the columns of message_rows.sql."""

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
    assigned_at: datetime | None
    lease_until: datetime | None
    last_error: str | None
    last_client: str | None
    origin_queue_id: int | None
    origin_index: int | None
    origin_attempts: int | None
    dead_reason: str | None
    died_at: datetime | None
    size: int  # bytes of the whole body
    body: bytes | None  # its beginning, as long as was asked for; None: it was not asked for
    headers: dict[str, str] | None
    group_key: str | None
    unique_key: str | None


def find_ids(
    chosen: MessageFilter,
    *,
    limit: int,
    order: IndexOrder | None = None,
    backwards: bool = False,
    after: Cursor | None = None,
    before: Cursor | None = None,
    seconds: float = TEXT_SECONDS,
) -> SearchPage[MessageId]:
    """The page after a cursor, or before it; or the first page. `backwards`: in the opposite order."""
    going_back = before is not None
    start = before if going_back else after
    cursor = None if start is None else MessageCursor(*start)
    walk = _walk(chosen, order or chosen.order, cursor, limit + 1, descending=backwards is not going_back)
    stopped = not walk.run(enough=limit + 1, seconds=seconds)  # one more tells whether there is another page
    return _page(walk, limit, cursor, going_back, stopped)


def find_messages(chosen: MessageFilter, *, body_bytes: int | None, **how: Any) -> SearchPage[MessageRow]:
    """The same with all that is shown of the messages, but of the bodies only so many bytes, or nothing."""
    found = find_ids(chosen, **how)
    rows = operate(lambda connection: _read(connection, found.rows, body_bytes), seconds=READ_SECONDS)
    return SearchPage(rows, found.previous, found.next, found.looked_at, found.stopped)


def find_message(message_id: MessageId, *, with_body: bool) -> MessageRow | None:
    """One message with its whole body, or without; None: it is not there."""
    body_bytes = WHOLE_BODY if with_body else None
    rows = operate(lambda connection: _read(connection, [message_id], body_bytes), seconds=READ_SECONDS)
    return rows[0] if rows else None


def list_name(order: IndexOrder) -> str:
    """What the cursors of a list in this order are signed for: in another order they would mean other messages."""
    return f"messages, {order.forwards}"


async def next_ids(
    connection: AsyncConnection[Any], chosen: MessageFilter, after: MessageCursor | None, *, limit: int
) -> tuple[list[MessageId], MessageCursor | None]:
    """On any connection: what one statement finds, oldest first, and where to go on (None: that was all)."""
    walk = _walk(chosen, BY_INDEX, after, limit, descending=False)
    if not walk.queue_ids:
        return [], None
    walk.step = limit if walk.conditions.match_all else REDRIVE_STEP
    await walk.take_step(connection)
    found = walk.found[:limit]
    if len(walk.found) > limit:
        return [match.id for match in found], found[-1].cursor
    return [match.id for match in found], walk.cursor if walk.queue_ids else None


def _walk(
    chosen: MessageFilter, order: IndexOrder, cursor: MessageCursor | None, enough: int, *, descending: bool
) -> IndexWalk:
    conditions = chosen.conditions(order)
    return IndexWalk(
        order=order,
        conditions=conditions,
        queue_ids=_queues_from(chosen, cursor, descending),
        descending=descending,
        cursor=cursor,
        last_indexes=chosen.bounds,
        step=enough if conditions.match_all else max(enough, FIRST_STEP),
    )


def _queues_from(chosen: MessageFilter, cursor: MessageCursor | None, descending: bool) -> list[int]:
    queue_ids = sorted(chosen.queue_ids, reverse=descending)
    if cursor is None:
        return queue_ids
    if descending:
        return [queue_id for queue_id in queue_ids if queue_id <= cursor.queue_id]
    return [queue_id for queue_id in queue_ids if queue_id >= cursor.queue_id]


def _page(
    walk: IndexWalk, limit: int, start: MessageCursor | None, going_back: bool, stopped: bool
) -> SearchPage[MessageId]:
    shown = walk.found[:limit]
    onwards = walk.cursor if stopped else None
    if len(walk.found) > limit:
        onwards = shown[-1].cursor
    backwards = (shown[0].cursor if shown else start) if start else None
    if going_back:
        shown.reverse()
        onwards, backwards = backwards, onwards
    return SearchPage([match.id for match in shown], backwards, onwards, walk.looked_at, stopped)


async def _read(connection: AsyncConnection[Any], ids: list[MessageId], body_bytes: int | None) -> list[MessageRow]:
    values = id_columns(await with_indexes(connection, ids)) | {"body_bytes": body_bytes}
    rows = [MessageRow(*row) for row in await fetch_rows(connection, statement("message_rows"), values)]
    return [replace(row, state=State(row.state)) for row in rows]
