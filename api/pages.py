"""Pages by keys: each begins after the last row of the one before, so rows that come and go move nothing."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers

SALT = "willow.cursor"
LOOKS = 20  # times that a page is looked for rows which the caller may see

Row = TypeVar("Row", bound=Model)


def write_cursor(value: Any, *, of: str) -> str:
    """Signed for the list it belongs to, so that nobody has to check what comes back."""
    return signing.dumps(value, salt=f"{SALT}:{of}", compress=True)


def read_cursor(text: str | None, *, of: str) -> Any:
    if text is None:
        return None
    try:
        return signing.loads(text, salt=f"{SALT}:{of}")
    except signing.BadSignature:
        raise serializers.ValidationError({"cursor": "This is no cursor that a page of this list gave."}) from None


def keyset_page(
    rows: QuerySet[Row],
    keys: Sequence[str],
    asked: dict[str, Any],
    *,
    shown: Callable[[Row], dict[str, Any]],
    keep: Callable[[Row], bool] | None = None,
) -> dict[str, Any]:
    """A page in the order of `keys` (with `-`: descending), of those rows that `keep` lets through."""
    of = f"{rows.model._meta.label} {' '.join(keys)}"
    last, limit = read_cursor(asked.get("cursor"), of=of), asked["limit"]
    names = [key.removeprefix("-") for key in keys]
    found: list[Row] = []
    more = True
    for _ in range(LOOKS):
        page = rows if last is None else rows.filter(_behind(keys, last))
        looked_at = list(page.order_by(*keys)[: limit + 1])
        passed = 0
        for row in looked_at[:limit]:
            last = [_plain(getattr(row, name)) for name in names]
            passed += 1
            if keep is None or keep(row):
                found.append(row)
            if len(found) == limit:
                break
        more = passed < len(looked_at)
        if not more or len(found) == limit:
            break
    return {"results": [shown(row) for row in found], "next": write_cursor(last, of=of) if more else None}


def _behind(keys: Sequence[str], last: Sequence[Any]) -> Q:
    """Rows after the last one: greater in the first key in which they differ."""
    behind = Q()
    equal = Q()
    for key, value in zip(keys, last, strict=True):
        name = key.removeprefix("-")
        behind |= equal & Q(**{f"{name}__{'lt' if key.startswith('-') else 'gt'}": value})
        equal &= Q(**{name: value})
    return behind


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
