"""Pages, as REST answers them: the rows, and the cursor of the next page."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from delivery.storage.pages import Cursor, Page, keyset_page, list_name, read_cursor, write_cursor

Row = TypeVar("Row")
ModelRow = TypeVar("ModelRow", bound=Model)


def asked_cursor(asked: dict[str, Any], *, of: str) -> Cursor | None:
    return read_cursor(asked["cursor"], of=of) if "cursor" in asked else None


def answered_page(page: Page[Row], shown: Callable[[Row], dict[str, Any]], *, of: str) -> dict[str, Any]:
    following = None if page.next is None else write_cursor(page.next, of=of)
    return {"results": [shown(row) for row in page.rows], "next": following}


def page_of_rows(
    rows: QuerySet[ModelRow],
    order: Sequence[str],
    asked: dict[str, Any],
    *,
    shown: Callable[[ModelRow], dict[str, Any]],
    keep: Callable[[ModelRow], bool] = lambda row: True,
) -> dict[str, Any]:
    """The requested page, ordered by unique columns, of the rows that `keep` lets through."""
    of = list_name(rows, order)
    page = keyset_page(rows, order, limit=asked["limit"], after=asked_cursor(asked, of=of), keep=keep)
    return answered_page(page, shown, of=of)
