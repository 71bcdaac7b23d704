"""How a message is doing or how it ended, for whoever posted it and for operators: by its queue and index."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from clients.models import Session
from delivery.inspection.search import MessageRow, find_message
from delivery.moves.message_id import MessageId
from delivery.moves.models import Journal, KeptReply, Message
from delivery.moves.states import Outcome
from delivery.storage.reading import bounded_cursor


@dataclass(frozen=True, slots=True)
class Ended:
    """`reply` and `until` are of queues that keep replies; `journal` is None when its day was dropped."""

    outcome: str
    reason: str | None
    error: str | None
    attempts: int
    ended_at: datetime
    reply: bytes | None = None
    until: datetime | None = None
    journal: Journal | None = None


@dataclass(frozen=True, slots=True)
class MessageOutcome:
    """One of the two is there."""

    poster_key: int | None
    live: MessageRow | None = None
    ended: Ended | None = None


def message_at(queue_id: int, index: int) -> MessageId:
    """A message that has ended has no ID any more. 0 stands for that: no message has it."""
    sequence = Message.objects.filter(queue_id=queue_id, index=index).values_list("sequence", flat=True).first()
    return MessageId(queue_id, sequence or 0, index)


def message_outcome(queue_id: int, index: int, *, with_bodies: bool) -> MessageOutcome | None:
    """None: there never was such a message, or nothing of it is kept."""
    return _as_it_is(queue_id, index, with_bodies) or _as_it_ended(queue_id, index, with_bodies)


def _as_it_is(queue_id: int, index: int, with_bodies: bool) -> MessageOutcome | None:
    """Runs on: the message's primary key."""
    found = Message.objects.filter(queue_id=queue_id, index=index).values_list("poster", "poster_key").first()
    row = find_message(message_at(queue_id, index), with_body=with_bodies) if found else None
    if found is None or row is None:
        return None
    return MessageOutcome(poster_key=found[1] or _key_of(found[0]), live=row)


def _as_it_ended(queue_id: int, index: int, with_bodies: bool) -> MessageOutcome | None:
    """Runs on: the kept reply's primary key; delivery_journal_message."""
    ends = Journal.objects.filter(queue_id=queue_id, index=index).exclude(outcome=Outcome.RETRIED).order_by("-id")
    with bounded_cursor():
        kept = KeptReply.objects.filter(queue_id=queue_id, index=index, until__gt=Now()).first()
        journal = (ends if with_bodies else ends.defer("body")).first()
    if kept is not None:
        reply = bytes(kept.reply) if with_bodies and kept.reply is not None else None
        return MessageOutcome(
            poster_key=kept.poster_key,
            ended=Ended(**_facts(kept), attempts=kept.attempts, reply=reply, until=kept.until, journal=journal),
        )
    if journal is None:
        return None
    return MessageOutcome(
        poster_key=_key_of(journal.poster), ended=Ended(**_facts(journal), attempts=journal.attempt, journal=journal)
    )


def _facts(row: KeptReply | Journal) -> dict[str, Any]:
    return {"outcome": row.outcome, "reason": row.reason, "error": row.error, "ended_at": row.ended_at}


def _key_of(session_id: int | None) -> int | None:
    return Session.objects.filter(pk=session_id).values_list("key_id", flat=True).first() if session_id else None
