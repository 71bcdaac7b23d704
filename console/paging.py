"""Pages of a list on a screen: where the page begins or ends stands in the address, as `after` or `before`."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import QueryDict

from delivery.storage.pages import Cursor, Page, keyset_page, list_name, read_cursor, write_cursor

ModelRow = TypeVar("ModelRow", bound=Model)

PAGE_ROWS = 50
NAMES = ("after", "before")


class ListedPage(Generic[ModelRow]):
    """A page with the addresses of the ones beside it."""

    def __init__(self, page: Page[ModelRow], given: QueryDict, of: str) -> None:
        self.rows = page.rows
        self.previous = page_address(given, of=of, before=page.previous)
        self.next = page_address(given, of=of, after=page.next)


def page_of(given: QueryDict, rows: QuerySet[ModelRow], *, order: Sequence[str]) -> ListedPage[ModelRow]:
    """In the order of unique columns, with a `-` for descending."""
    of = list_name(rows, order)
    try:
        cursors = read_cursors(given, of=of)
    except ValidationError:
        cursors = {}  # an address that somebody typed: the list from its beginning
    return ListedPage(keyset_page(rows, order, limit=PAGE_ROWS, **cursors), given, of)


def read_cursors(given: QueryDict, *, of: str) -> dict[str, Any]:
    """`after` or `before`, if one is given. A ValidationError says that it is not of this list."""
    return {name: read_cursor(text, of=of) for name in NAMES if (text := given.get(name, ""))}


def page_address(given: QueryDict, *, of: str, **cursor: Cursor | None) -> str | None:
    """The same list from another cursor on; None: there is no such page."""
    cursors = [(name, write_cursor(value, of=of)) for name, value in cursor.items() if value is not None]
    return f"?{urlencode(_chosen(given) + cursors)}" if cursors else None


def search_of(given: QueryDict) -> str:
    """What is searched for, wherever the page is."""
    return urlencode(_chosen(given))


def _chosen(given: QueryDict) -> list[tuple[str, str]]:
    return [(name, value) for name, values in given.lists() for value in values if value and name not in NAMES]
