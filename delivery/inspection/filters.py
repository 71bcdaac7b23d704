"""Which messages an operator means: by their ids, or by a filter; and reading them a page at a time."""

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from delivery.moves.models import Message
from delivery.moves.states import State
from delivery.protocol.fields import BIGINT_MAX
from delivery.storage.connection import fetch_rows
from delivery.storage.on_django import operate
from delivery.storage.statements import statement

LOOKED_AT = 5000  # messages that one statement looks at, whether the filter chooses them or not
MOST_LOOKS = 20  # statements for one page: a hundred thousand messages are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """All of these must hold. Queues are looked at one after the other, each from its oldest message on."""

    queue_ids: tuple[int, ...]
    states: frozenset[State] = frozenset()  # none: whatever the state
    sequence: int | None = None
    index_from: int = 1
    index_to: int = BIGINT_MAX
    priority_from: int | None = None
    priority_to: int | None = None
    posted_before: datetime | None = None
    posted_after: datetime | None = None
    text: str | None = None  # somewhere in the body
    reason: str | None = None  # dead letters: why they died
    signature: str | None = None  # dead letters: what their errors have in common
    origin_queue_id: int | None = None  # dead letters: where they came from
    bounds: dict[int, int] = field(default_factory=dict)  # by queue: the newest index that counts

    def as_json(self) -> dict[str, Any]:
        """For the audit: what was asked for, without what was left open. The searched text may be part of a body."""
        given = {
            name: value
            for name, value in asdict(self).items()
            if value not in (None, frozenset(), {}, BIGINT_MAX) and (name, value) != ("index_from", 1)
        }
        given.pop("bounds", None)
        if "states" in given:
            given["states"] = sorted(State(state).label for state in given["states"])
        if "text" in given:
            given["text"] = f"{len(given['text'])} characters"
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items()}

    def _walk(self) -> str:
        """Which index to go by."""
        if self.states == {State.CLAIMED}:
            return "claimed"
        if self.states == {State.DELAYED}:
            return "delayed"
        return "all"

    @property
    def takes_all(self) -> bool:
        """Whether every message within its bounds is chosen, so that none is looked at in vain."""
        conditions = self.parameters()
        walk, states = conditions.pop("walk"), conditions.pop("states")
        return (states is None or walk != "all") and all(value is None for value in conditions.values())

    def parameters(self) -> dict[str, Any]:
        return {
            "walk": self._walk(),
            "states": [state.value for state in self.states] or None,
            "sequence": self.sequence,
            "priority_from": self.priority_from,
            "priority_to": self.priority_to,
            "posted_before": self.posted_before,
            "posted_after": self.posted_after,
            "text": self.text.encode() if self.text else None,
            "reason": self.reason,
            "signature": self.signature,
            "origin": self.origin_queue_id,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: a queue's place in the filter, and the index after which to go on there."""

    queue: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    next: Place | None  # None: that was all


async def find_page(
    connection: AsyncConnection[Any],
    chosen: MessageFilter,
    place: Place,
    *,
    limit: int,
    body_bytes: int = 0,
    looks: int | None = None,
) -> Page:
    """The next messages that a filter chooses. `looks`: after so many statements the page ends, full or not."""
    rows: list[Any] = []
    looked_at = min(limit, LOOKED_AT) if chosen.takes_all else LOOKED_AT
    while place.queue < len(chosen.queue_ids) and len(rows) < limit and (looks is None or looks > 0):
        queue_id = chosen.queue_ids[place.queue]
        parameters = chosen.parameters() | {
            "queue_id": queue_id,
            "after": max(place.after, chosen.index_from - 1),
            "index_to": min(chosen.index_to, chosen.bounds.get(queue_id, BIGINT_MAX)),
            "looked_at": looked_at,
            "limit": limit - len(rows),
            "body_bytes": body_bytes,
        }
        found = await fetch_rows(connection, statement("find_messages"), parameters)
        matching = [row for row in found if row.index is not None]
        rows += matching
        if len(rows) >= limit:
            place = Place(place.queue, matching[-1].index)
        elif found[0].rows_looked_at == looked_at:
            place = Place(place.queue, found[0].looked_to)
        else:
            place = Place(place.queue + 1)
        looks = None if looks is None else looks - 1
    return Page(rows, place if place.queue < len(chosen.queue_ids) else None)


def messages_page(*, chosen: MessageFilter, place: Place | None = None, limit: int = 100, body_bytes: int = 0) -> Page:
    """A page for people. It may be short, and yet not the last, when few of many messages are chosen."""
    narrowed = with_sequence_found(chosen)
    return operate(
        lambda connection: find_page(
            connection, narrowed, place or Place(), limit=limit, body_bytes=body_bytes, looks=MOST_LOOKS
        )
    )


def with_sequence_found(chosen: MessageFilter) -> MessageFilter:
    """An ID is looked up by the primary key, so that its queue is walked over no further than it must be."""
    if chosen.sequence is None:
        return chosen
    found = Message.objects.filter(queue_id__in=chosen.queue_ids, sequence=chosen.sequence)
    indexes = dict(found.values_list("queue_id", "index"))
    if not indexes:
        return replace(chosen, queue_ids=())
    return replace(
        chosen,
        queue_ids=tuple(queue_id for queue_id in chosen.queue_ids if queue_id in indexes),
        index_from=max(min(indexes.values()), chosen.index_from),
        index_to=min(max(indexes.values()), chosen.index_to),
    )
