"""What happened to a message, from the journal and its present state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clients.models import Session
from delivery.inspection.message import live_message
from delivery.moves.message_id import MessageId
from delivery.moves.models import Journal, Message
from delivery.moves.states import Outcome, State

MOST_ROWS = 1000  # of the journal: attempts of one message


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    what: str  # posted, assigned, retried, finished, popped, dead, dropped, delayed, claimed, ready, retained
    sentence: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def message_timeline(message_id: MessageId) -> list[Event]:
    """What happened to a message, oldest first. For a dead letter, also what happened before it died."""
    message = live_message(message_id)
    index = message.index if message is not None else message_id.index
    if index is None:
        return []
    events = _journalled(message_id.queue_id, index)
    if message is not None:
        if message.origin_queue_id is not None and message.origin_index is not None:
            events = _journalled(message.origin_queue_id, message.origin_index) + events
        if not any(event.what == "posted" and event.at == message.posted_at for event in events):
            events.append(_posted(message.posted_at, message.poster, message.priority))
        events.append(_now(message, since=max(event.at for event in events)))
    return sorted(events, key=lambda event: event.at)


def _journalled(queue_id: int, index: int) -> list[Event]:
    rows = list(Journal.objects.filter(queue_id=queue_id, index=index).order_by("id")[:MOST_ROWS])
    events = [_posted(rows[0].posted_at, rows[0].poster, rows[0].priority)] if rows else []
    for row in rows:
        facts = {"attempt": row.attempt, "client": row.client, "node": row.node, "session": row.holder}
        if row.assigned_at is not None:
            who = row.client or (f"session {row.holder}" if row.holder else "a client")
            events.append(Event(row.assigned_at, "assigned", f"Attempt {row.attempt} went to {who}.", facts))
        because = f" ({row.reason})" if row.reason else ""
        told = f": {row.error}" if row.error else ""
        sentence = f"{Outcome(row.outcome).label.capitalize()}{because} on {row.node}{told}."
        events.append(Event(row.ended_at, row.outcome, sentence, facts | {"reason": row.reason, "error": row.error}))
    return events


def _posted(at: datetime, poster: int | None, priority: int) -> Event:
    by = f" by session {poster}" if poster else ""
    return Event(at, "posted", f"Posted{by} with priority {priority}.", {"session": poster, "priority": priority})


def _now(message: Message, since: datetime) -> Event:
    """Its present state, since the last event."""
    state = State(message.state)
    if state == State.CLAIMED and message.assigned_at is not None:
        session = Session.objects.filter(pk=message.holder or 0).select_related("client", "node").first()
        who = str(session) if session else f"session {message.holder}"
        facts = {"session": message.holder, "attempt": message.attempts, "until": message.lease_until}
        sentence = f"Attempt {message.attempts} is with {who}, until {message.lease_until:%Y-%m-%d %H:%M:%S} UTC."
        return Event(message.assigned_at, "claimed", sentence, facts)
    if state == State.DELAYED:
        sentence = f"Waits until {message.available_at:%Y-%m-%d %H:%M:%S} UTC."
        return Event(since, "delayed", sentence, {"until": message.available_at})
    sentences = {
        State.READY: "Is ready to be taken.",
        State.BEHIND: f"Waits for others of its group {message.group_key}.",
        State.RETAINED: "Is kept in its stream.",
    }
    return Event(since, state.label, sentences[state], {})
