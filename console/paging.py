"""Pages of a list in the order of one unique column, forwards and backwards from any row: nothing is ever counted."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

Row = TypeVar("Row", bound=Model)

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    rows: list[Row]
    previous: str | None  # addresses
    next: str | None


def page_of(request: HttpRequest, rows: QuerySet[Row], *, by: str, rows_shown: int = PAGE_ROWS) -> Page[Row]:
    """`by` is a unique column, with a `-` for descending. Where the page begins stands in the address."""
    column, descending = by.removeprefix("-"), by.startswith("-")
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    going_back = bool(before)
    ascending = descending if going_back else not descending
    if start := before or after:
        rows = _from(rows, f"{column}__{'gt' if ascending else 'lt'}", start)
    found = list(rows.order_by(column if ascending else f"-{column}")[: rows_shown + 1])
    shown = found[:rows_shown]
    further = len(found) > rows_shown
    if going_back:
        shown.reverse()
    has_previous, has_next = (further, True) if going_back else (bool(after), further)
    return Page(
        shown,
        _address(request, before=getattr(shown[0], column)) if shown and has_previous else None,
        _address(request, after=getattr(shown[-1], column)) if shown and has_next else None,
    )


def _from(rows: QuerySet[Row], lookup: str, start: str) -> QuerySet[Row]:
    try:
        return rows.filter(**{lookup: start})
    except (ValueError, ValidationError):
        return rows  # an address that somebody typed: the list from its beginning


def _address(request: HttpRequest, **place: Any) -> str:
    chosen = {name: value for name, value in request.GET.items() if value and name not in ("after", "before")}
    return f"?{urlencode(chosen | place)}"
