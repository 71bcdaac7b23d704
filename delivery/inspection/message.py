"""One message, looked at without claiming it: as it is, or what the journal kept of it. Its body as people read it."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import BinaryField, F, Func, IntegerField, Model, QuerySet, Value
from django.db.models.functions import Now, Substr

from clients.models import Node, Session
from delivery.moves.message_id import MessageId, with_indexes
from delivery.moves.models import Journal, KeptReply, Message
from delivery.storage.on_django import operate
from delivery.storage.reading import bounded_cursor
from queues.models import Queue

SHOWN_BYTES = 256 * 1024  # of a body; the rest is left out
REPLY_BYTES = 1000  # of a reply, which is shown on one line
HEX_BYTES = 16  # on each line

Row = TypeVar("Row", bound=Model)

BODY_SIZE = Func(F("body"), function="octet_length", output_field=IntegerField())
BODY_BEGINNING = Substr("body", 1, Value(SHOWN_BYTES), output_field=BinaryField())


@dataclass(frozen=True, slots=True)
class BodyViews:
    """`json` and `text` are None where the body is neither. `best` names the view to begin with."""

    json: str | None
    text: str | None
    hex: str
    size: int
    shown: int

    @property
    def best(self) -> str:
        return next(name for name in ("json", "text", "hex") if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True)
class ReplyView:
    """A reply that the queue keeps: its beginning on one line, or None if the finish had none."""

    line: str | None
    size: int
    until: datetime


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """`message` is None if the message has ended; then `ended` is its last row in the journal."""

    message: Message | None
    ended: Journal | None
    queue: Queue | None  # None: it was deleted
    body: BodyViews | None  # None: it was not asked for, or is not kept
    holder: Session | None
    poster: Session | None
    poster_node: Node | None = None
    origin: Queue | None = None
    reply: ReplyView | None = None


def whole_body(queue_id: int, sequence: int, index: int, *, most: int) -> bytes | None:
    """None if it is longer, or the message is gone."""
    found = Message.objects.filter(queue_id=queue_id, sequence=sequence, index=index)
    body = found.extra(where=["octet_length(body) <= %s"], params=[most]).values_list("body", flat=True).first()
    return None if body is None else bytes(body)


def message_record(queue_id: int, index: int, *, with_body: bool) -> MessageRecord | None:
    """None: there is no such message, also not in the journal."""
    with bounded_cursor():
        return _as_it_is(queue_id, index, with_body) or _as_it_ended(queue_id, index, with_body)


def live_message(message_id: MessageId) -> Message | None:
    """One that lives now, with or without its index."""
    [one] = operate(lambda connection: with_indexes(connection, [message_id]))
    if one.index is None:
        return None
    return Message.objects.filter(queue_id=one.queue_id, index=one.index, sequence=one.sequence).first()


def _as_it_is(queue_id: int, index: int, with_body: bool) -> MessageRecord | None:
    """Runs on: the message's primary key."""
    found = Message.objects.filter(queue_id=queue_id, index=index)
    message = found.defer("body").first()
    if message is None:
        return None
    return MessageRecord(
        message=message,
        ended=None,
        queue=_queue(queue_id),
        body=_body(found) if with_body else None,
        holder=_session(message.holder),
        poster=_session(message.poster),
        poster_node=_first(Node.objects.all(), message.poster_node),
        origin=_queue(message.origin_queue_id),
    )


def _as_it_ended(queue_id: int, index: int, with_body: bool) -> MessageRecord | None:
    """Runs on: delivery_journal_message."""
    found = Journal.objects.filter(queue_id=queue_id, index=index).order_by("-id")
    ended = found.defer("body").first()
    if ended is None:
        return None
    return MessageRecord(
        message=None,
        ended=ended,
        queue=_queue(queue_id),
        body=_body(found.filter(body__isnull=False)) if with_body else None,
        holder=_session(ended.holder),
        poster=_session(ended.poster),
        reply=_reply(queue_id, index),
    )


def _reply(queue_id: int, index: int) -> ReplyView | None:
    """Runs on: the kept reply's primary key."""
    size = Func(F("reply"), function="octet_length", output_field=IntegerField())
    beginning = Substr("reply", 1, Value(REPLY_BYTES), output_field=BinaryField())
    kept = KeptReply.objects.filter(queue_id=queue_id, index=index, until__gt=Now())
    row = kept.annotate(size=size, beginning=beginning).values_list("beginning", "size", "until").first()
    if row is None:
        return None
    return ReplyView(None if row[0] is None else first_line(bytes(row[0])), row[1] or 0, row[2])


def _body(found: QuerySet[Any]) -> BodyViews | None:
    row = found.annotate(whole=BODY_SIZE, beginning=BODY_BEGINNING).values_list("whole", "beginning").first()
    return body_views(bytes(row[1]), row[0]) if row else None


def _queue(queue_id: int | None) -> Queue | None:
    return _first(Queue.objects.all(), queue_id)


def _session(session_id: int | None) -> Session | None:
    return _first(Session.objects.select_related("client", "node", "key__client"), session_id)


def _first(rows: QuerySet[Row], number: int | None) -> Row | None:
    return rows.filter(pk=number).first() if number is not None else None


def body_views(beginning: bytes, size: int) -> BodyViews:
    """`size` is the size of the whole body; `beginning` may be only its first bytes."""
    return BodyViews(
        json=_as_json(beginning) if len(beginning) == size else None,
        text=_as_text(beginning, cut=len(beginning) < size),
        hex=_as_hex(beginning),
        size=size,
        shown=len(beginning),
    )


def first_line(beginning: bytes) -> str:
    """A body in a list: its first bytes on one line, whatever they are."""
    text = beginning.decode(errors="replace")
    return "".join(character if character.isprintable() else "·" for character in text)


def _as_json(body: bytes) -> str | None:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _as_text(body: bytes, cut: bool) -> str | None:
    """None where it is not UTF-8, or has control characters other than white space."""
    last = 3 if cut else 0  # bytes that a character at the cut may have lost
    for missing in range(last + 1):
        try:
            text = body[: len(body) - missing].decode()
        except UnicodeDecodeError:
            continue
        return text if all(character.isprintable() or character in "\t\r\n\xa0" for character in text) else None
    return None


def _as_hex(body: bytes) -> str:
    lines = (body[start : start + HEX_BYTES] for start in range(0, len(body), HEX_BYTES))
    return "\n".join(
        f"{number * HEX_BYTES:08x}  {line.hex(' '):<{HEX_BYTES * 3 - 1}}  {_printable(line)}"
        for number, line in enumerate(lines)
    )


def _printable(line: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in line)
