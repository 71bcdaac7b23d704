"""Pages of a list, for the console, the admin and REST: by the values that the list is ordered by, never by counting.

A cursor holds these values of one row. A page begins after a cursor or ends before one, so rows that come and go move
nothing. In addresses a cursor is signed for the list that it belongs to: what comes back is what was given out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core import signing
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

SALT = "willow.cursor"
MOST_READS = 20  # times that a page is read on for rows that the caller may see

Cursor = tuple[Any, ...]
Row = TypeVar("Row")
ModelRow = TypeVar("ModelRow", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    previous: Cursor | None  # the page before this one ends before it; None: this is the first page
    next: Cursor | None  # the page after this one begins after it; None: this is the last page


def write_cursor(cursor: Cursor, *, of: str) -> str:
    """As it stands in addresses and answers. `of` names the list."""
    return signing.dumps([_plain(value) for value in cursor], salt=f"{SALT}:{of}", compress=True)


def read_cursor(text: str, *, of: str) -> Cursor:
    try:
        return tuple(signing.loads(text, salt=f"{SALT}:{of}"))
    except signing.BadSignature:
        raise ValidationError({"cursor": "This cursor was not given by a page of this list."}) from None


def list_name(rows: QuerySet[Any], order: Sequence[str]) -> str:
    """What the cursors of a list in this order are signed for."""
    return f"{rows.model._meta.label} {' '.join(order)}"


def keyset_page(
    rows: QuerySet[ModelRow],
    order: Sequence[str],
    *,
    limit: int,
    after: Cursor | None = None,
    before: Cursor | None = None,
    keep: Callable[[ModelRow], bool] = lambda row: True,
) -> Page[ModelRow]:
    """A page in the order of unique columns (with `-`: descending), of those rows that `keep` lets through."""
    going_back = before is not None
    direction = [_reversed(column) for column in order] if going_back else list(order)
    start = before if going_back else after
    found, reached, more = _read(rows, direction, start, limit, keep)
    onwards = reached if more else None
    backwards = (_cursor_of(found[0], order) if found else start) if start is not None else None
    if going_back:
        found.reverse()
        onwards, backwards = backwards, onwards
    return Page(found, backwards, onwards)


def _read(
    rows: QuerySet[ModelRow],
    order: Sequence[str],
    start: Cursor | None,
    limit: int,
    keep: Callable[[ModelRow], bool],
) -> tuple[list[ModelRow], Cursor | None, bool]:
    """The rows, the cursor of the last row that was looked at, and whether there are rows behind it."""
    found: list[ModelRow] = []
    reached, more = start, True
    for _ in range(MOST_READS):
        behind = rows if reached is None else rows.filter(_behind(order, reached))
        looked_at = list(behind.order_by(*order)[: limit + 1])
        passed = 0
        for row in looked_at[:limit]:
            reached = _cursor_of(row, order)
            passed += 1
            if keep(row):
                found.append(row)
            if len(found) == limit:
                break
        more = passed < len(looked_at)
        if not more or len(found) == limit:
            break
    return found, reached, more


def _behind(order: Sequence[str], cursor: Cursor) -> Q:
    """Rows after a cursor: those that are beyond it in the first column in which they differ from it."""
    behind = Q()
    equal = Q()
    for column, value in zip(order, cursor, strict=True):
        name = column.removeprefix("-")
        behind |= equal & Q(**{f"{name}__{'lt' if column.startswith('-') else 'gt'}": value})
        equal &= Q(**{name: value})
    return behind


def _cursor_of(row: Model, order: Sequence[str]) -> Cursor:
    return tuple(getattr(row, column.removeprefix("-")) for column in order)


def _reversed(column: str) -> str:
    return column.removeprefix("-") if column.startswith("-") else f"-{column}"


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
