"""How a message is named, by programs and by people: its queue, its ID, and the index that never comes again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from django.core.exceptions import ValidationError
from psycopg import AsyncConnection

from delivery.storage.columns import BigintColumn, Column
from delivery.storage.connection import fetch_batch
from delivery.storage.statements import statement
from queues.integer_ranges import BIGINT_MAX

MOST_DIGITS = 19  # of a bigint
MOST_IDS = 10_000  # chosen one by one
LOOKED_AT = 100_000  # messages of a queue, oldest first, to find one whose index was not named


@dataclass(frozen=True, slots=True, order=True)
class MessageId:
    """Statements go by the index, which keeps an action from a later message with the same ID.

    People may leave it out; then the message is looked for (`with_indexes`).
    """

    queue_id: int
    sequence: int
    index: int | None = None

    @classmethod
    def read(cls, text: str) -> "MessageId":
        """As people and addresses write it: `queue/sequence` or `queue/sequence/index`."""
        parts = text.split("/")
        if not 2 <= len(parts) <= 3 or not all(
            part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS and int(part) <= BIGINT_MAX for part in parts
        ):
            raise ValidationError(
                f"A message is named by shard/sequence or shard/sequence/index, such as 3/17/240, not {text[:60]!r}."
            )
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return "/".join(str(part) for part in (self.queue_id, self.sequence, self.index) if part is not None)


class FoundIndex(NamedTuple):
    place: int
    index: int  # type: ignore[assignment]  # tuples have a method of that name


async def with_indexes(connection: AsyncConnection[Any], ids: Sequence[MessageId]) -> list[MessageId]:
    """The same messages, each with its index. One that is not found gets none, and no statement will find it."""
    if all(one.index is not None for one in ids):
        return list(ids)
    columns = id_columns(ids) | {"looked_at": LOOKED_AT}
    rows = await fetch_batch(connection, statement("indexes_of"), columns, FoundIndex)
    found = {row.place: row.index for row in rows}
    return [one if one.index is not None else replace(one, index=found.get(place)) for place, one in enumerate(ids, 1)]


def in_lock_order(ids: Iterable[MessageId]) -> list[MessageId]:
    """As everybody names messages that a statement locks, so that no two wait for each other."""
    return sorted(ids, key=lambda one: (one.queue_id, one.index or 0))


def id_columns(ids: Sequence[MessageId]) -> dict[str, Any]:
    return {
        "queue_id": BigintColumn([one.queue_id for one in ids]),
        "sequence": BigintColumn([one.sequence for one in ids]),
        "index": BigintColumn([one.index for one in ids]),
    }


class HeldMessage(Protocol):
    """A message, and who is said to hold it."""

    @property
    def queue_id(self) -> int: ...

    @property
    def sequence(self) -> int: ...

    @property
    def index(self) -> int | None: ...

    @property
    def holder(self) -> int: ...

    @property
    def attempt(self) -> int | None:
        """None: whichever it is."""


def held_columns(claims: Sequence[HeldMessage]) -> dict[str, Column]:
    return {
        "queue_id": BigintColumn([claim.queue_id for claim in claims]),
        "sequence": BigintColumn([claim.sequence for claim in claims]),
        "index": BigintColumn([claim.index for claim in claims]),
        "holder": BigintColumn([claim.holder for claim in claims]),
        "attempt": BigintColumn([claim.attempt for claim in claims]),
    }


def row_id(row: Any) -> MessageId:
    return MessageId(row.queue_id, row.sequence, row.index)


def in_batches(ids: Iterable[MessageId], size: int) -> Iterator[list[MessageId]]:
    listed = list(dict.fromkeys(ids))
    if len(listed) > MOST_IDS:
        raise ValidationError(f"At most {MOST_IDS} messages can be chosen one by one, not {len(listed)}.")
    for start in range(0, len(listed), size):
        yield listed[start : start + size]
