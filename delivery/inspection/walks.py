"""The orders in which messages can be walked along an index, in both directions, from any place.

Whoever looks for messages of one state walks along the index that holds nothing else. A place is three whole numbers,
so that it fits into an address; times are counted in microseconds.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, NamedTuple

from django.core.exceptions import ValidationError

from delivery.moves.states import State

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Place(NamedTuple):
    """Where a page begins or ends. Of the last message of a queue or of none: beyond all of its messages."""

    queue_id: int
    first: int
    second: int

    def __str__(self) -> str:
        return ".".join(map(str, self))


def read_place(text: str) -> Place:
    numbers = text.split(".")
    try:
        place = Place(*map(int, numbers))
    except (TypeError, ValueError):
        place = None
    if place is None or not all(LOWEST <= number <= HIGHEST for number in place):
        raise ValidationError(f"A place is written as three whole numbers such as 3.0.90211, not {text!r}.")
    return place


@dataclass(frozen=True, slots=True)
class Walk:
    """Messages of a queue are ordered by `first` and then `second`; `only` is the condition of the index."""

    first: LiteralString
    second: LiteralString
    only: LiteralString
    forwards: str  # what the order is called
    backwards: str
    by_time: bool = False

    @property
    def kind(self) -> LiteralString:
        return "timestamptz" if self.by_time else "bigint"

    @property
    def key(self) -> LiteralString:
        """What is compared with a place: a constant in front would keep PostgreSQL from going by the index."""
        return "(index)" if self is BY_INDEX else f"({self.first}, {self.second})"

    def written(self, number: int) -> str:
        """The first number of a place, as PostgreSQL reads it."""
        if not self.by_time:
            return str(number)
        try:
            return (EPOCH + number * MICROSECOND).isoformat()
        except OverflowError:
            return "infinity" if number > 0 else "-infinity"

    def number(self, value: Any) -> int:
        return (value - EPOCH) // MICROSECOND if self.by_time else value


BY_INDEX = Walk("0::bigint", "index", "index > 0", "oldest first", "newest first")
BY_TURN = Walk("priority * -1", "index", "state = 0", "next to be handed out first", "last to be handed out first")
BY_LEASE = Walk(
    "lease_until", "sequence", "lease_until IS NOT NULL AND state = 2", "claim that ends next first",
    "claim that ends last first", by_time=True,
)  # fmt: skip
BY_DELAY = Walk("available_at", "sequence", "state = 1", "due next first", "due last first", by_time=True)

OF_STATE = {State.READY: BY_TURN, State.DELAYED: BY_DELAY, State.CLAIMED: BY_LEASE}


def walk_for(state: State | None) -> Walk:
    return BY_INDEX if state is None else OF_STATE.get(state, BY_INDEX)
