"""Which messages somebody means: the one filter of the console, of REST, of operators' actions and of redrives."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, LiteralString

from delivery.inspection.index_walk import BY_INDEX, BY_PRIORITY, ORDER_OF_STATE, Conditions, IndexOrder
from delivery.moves.states import State
from delivery.storage.reading import bounded_cursor
from queues.integer_ranges import BIGINT_MAX
from queues.models import Kind, Queue

OLDEST_INDEX = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """All of these must hold. What is left out does not matter."""

    queue_ids: tuple[int, ...]
    states: frozenset[State] = frozenset()  # one of them
    sequence: int | None = None
    index_from: int = OLDEST_INDEX
    index_to: int = BIGINT_MAX
    priority_from: int | None = None
    priority_to: int | None = None
    posted_before: datetime | None = None
    posted_after: datetime | None = None
    text: str | None = None  # somewhere in the body
    header: str | None = None  # the name of a header that it has
    reason: str | None = None  # dead letters: why they died
    signature: str | None = None  # dead letters: what their errors have in common; empty: they have none
    origin_queue_id: int | None = None  # dead letters: where they came from
    bounds: dict[int, int] = field(default_factory=dict)  # by queue: the newest index that counts

    @property
    def order(self) -> IndexOrder:
        """Oldest first, unless another index leads past fewer messages: then in the order of that."""
        return BY_INDEX if self.order_of_state is BY_PRIORITY else self.order_of_state

    @property
    def order_of_state(self) -> IndexOrder:
        """In the order of the state that is asked for: ready messages as they are handed out, too."""
        if len(self.states) != 1 or self.index_from == self.index_to:
            return BY_INDEX
        [state] = self.states
        return ORDER_OF_STATE.get(state, BY_INDEX)

    def conditions(self, order: IndexOrder) -> Conditions:
        narrowing, match = ["true"], ["true"]
        by_index = narrowing if order is BY_INDEX else match
        if self.index_from != OLDEST_INDEX:
            by_index.append("index >= %(index_from)s::bigint")
        if self.index_to != BIGINT_MAX:
            by_index.append("index <= %(index_to)s::bigint")
        if self.bounds:
            by_index.append("index <= start.last_index")
        is_implied = order in ORDER_OF_STATE.values()  # the state, by the index that holds no other
        match += [
            sql
            for name, sql in MATCHES.items()
            if getattr(self, name) not in (None, frozenset()) and not (is_implied and name == "states")
        ]
        return Conditions(" AND ".join(narrowing), " AND ".join(match[1:] or match), self._values())

    def _values(self) -> dict[str, Any]:
        names = ("index_from", "index_to", *MATCHES)
        return {name: getattr(self, name) for name in names} | {
            "states": [state.value for state in self.states],
            "text": None if self.text is None else self.text.encode(),
        }

    def as_json(self) -> dict[str, Any]:
        """For the audit: what was asked for, without what was left out. The searched text may be part of a body."""
        given = {
            name: value
            for name, value in asdict(self).items()
            if value not in (None, frozenset(), {}, BIGINT_MAX) and (name, value) != ("index_from", OLDEST_INDEX)
        }
        given.pop("bounds", None)
        if "states" in given:
            given["states"] = sorted(State(state).label for state in given["states"])
        if "text" in given:
            given["text"] = f"{len(given['text'])} characters"
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items()}


# What is asked of each message that a walk passes, by the field of the filter.
MATCHES: dict[str, LiteralString] = {
    "states": "state = ANY (%(states)s::int[])",
    "sequence": "sequence = %(sequence)s::bigint",
    "priority_from": "priority >= %(priority_from)s::bigint",
    "priority_to": "priority <= %(priority_to)s::bigint",
    "posted_before": "posted_at < %(posted_before)s::timestamptz",
    "posted_after": "posted_at > %(posted_after)s::timestamptz",
    "reason": "dead_reason = %(reason)s::text",
    "signature": "willow_error_signature(last_error) = %(signature)s::text",
    "origin_queue_id": "origin_queue_id = %(origin_queue_id)s::bigint",
    "header": "headers ? %(header)s::text",
    "text": "position(%(text)s::bytea IN body) > 0",
}


def queue_ids_like(
    *, queue_id: int | None = None, name: str = "", tags: Iterable[str] = (), kind: Kind | None = None
) -> tuple[int, ...]:
    """The queues that a search names: `*` in the name stands for any characters, and a queue has all of the tags."""
    queues = Queue.objects.all()
    if queue_id is not None:
        queues = queues.filter(pk=queue_id)
    if "*" in name:
        queues = queues.filter(name__regex="^" + re.escape(name).replace(r"\*", ".*") + "$")
    elif name:
        queues = queues.filter(name=name)
    if wanted := list(tags):
        queues = queues.filter(tags__contains=wanted)
    if kind is not None:
        queues = queues.filter(kind=kind)
    with bounded_cursor():
        return tuple(queues.order_by("pk").values_list("pk", flat=True))
