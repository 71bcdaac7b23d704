"""Checks of what callers give, where they give it: the broker would refuse it later, with less to go by."""

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from willow_client.bodies import check_is_text
from willow_client.errors import BadArgument

Tags: TypeAlias = str | Iterable[str]

LONGEST_NAME = 200  # characters, of queues, services, clients and tags
MOST_TAGS = 64
LONGEST_SHORT_TEXT = 500  # characters
LONGEST_GROUPING_TEXT = 200  # characters
LARGEST_SECONDS = 315_360_000.0  # ten years
LARGEST_PRIORITY = 2**32 - 1
MOST_HEADERS = 64
MOST_HEADER_VALUE_BYTES = 4096
MOST_HEADER_BYTES = 16 * 1024  # names and values of one message together
HEADERS_RULE = (
    "`headers` must be at most 64 texts by name, 16384 bytes in all: names of 1 to 128 characters of a-z 0-9 - _ . "
    "that do not begin with willow-, values of at most 4096 bytes without NUL"
)

_is_header_name = re.compile(r"(?!willow-)[a-z0-9._-]{1,128}").fullmatch


@lru_cache(maxsize=4096)
def check_name(field: str, name: str) -> str:
    if not isinstance(name, str):
        raise BadArgument(field, f"`{field}` must be a text, not {type(name).__name__}.")
    if not 1 <= len(name) <= LONGEST_NAME or not (name.isascii() and name.isprintable()):
        raise BadArgument(field, f"`{field}` must be 1 to {LONGEST_NAME} printable ASCII characters, not {name!r}.")
    return name


def as_tags(tags: Tags) -> tuple[str, ...]:
    """A single text is one tag."""
    if not tags:
        return ()
    if not isinstance(tags, Iterable) or isinstance(tags, bytes):
        raise BadArgument("tags", f"`tags` must be a text or a list of texts, not {tags!r}.")
    given = (tags,) if isinstance(tags, str) else tuple(tags)
    if len(given) > MOST_TAGS:
        raise BadArgument("tags", f"`tags` may be {MOST_TAGS} at most, not {len(given)}.")
    for tag in given:
        if not isinstance(tag, str) or not 1 <= len(tag) <= LONGEST_NAME or "\0" in tag:
            raise BadArgument("tags", f"A tag must be a text of 1 to {LONGEST_NAME} characters, not {tag!r}.")
    return given


def check_seconds(field: str, seconds: float | None, *, above_zero: bool = False) -> float | None:
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not is_number or not 0 <= seconds <= LARGEST_SECONDS or (above_zero and seconds == 0):
        least = "above 0" if above_zero else "0 or more"
        raise BadArgument(field, f"`{field}` must be a number of seconds, {least}, not {seconds!r}.")
    return seconds


def check_number(field: str, number: float | None, least: float, most: float, *, above_least: bool = False) -> None:
    if number is None:
        return
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    if not is_number or not least <= number <= most or (above_least and number == least):
        lowest = f"above {least:g} and at most" if above_least else f"from {least:g} to"
        raise BadArgument(field, f"`{field}` must be a number {lowest} {most:g}, not {number!r}.")


def check_flag(field: str, flag: object) -> None:
    if flag is not None and not isinstance(flag, bool):
        raise BadArgument(field, f"`{field}` must be True or False, not {flag!r}.")


def check_whole(field: str, number: int | None, least: int, most: int) -> None:
    if number is None:
        return
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise BadArgument(field, f"`{field}` must be a whole number from {least} to {most}, not {number!r}.")


def check_short_text(field: str, text: str | None) -> None:
    if text is None:
        return
    if not isinstance(text, str) or not 1 <= len(text) <= LONGEST_SHORT_TEXT or "\0" in text:
        raise BadArgument(field, f"`{field}` must be a text of 1 to {LONGEST_SHORT_TEXT} characters, not {text!r}.")


def check_grouping_text(field: str, text: str | None) -> str | None:
    if text is not None and (not isinstance(text, str) or not 1 <= len(text) <= LONGEST_GROUPING_TEXT or "\0" in text):
        raise BadArgument(field, f"`{field}` must be a text of 1 to {LONGEST_GROUPING_TEXT} characters, not {text!r}.")
    return text


def as_headers(headers: Mapping[str, str] | None) -> dict[str, str] | None:
    """What is in them is for the broker to judge, which says what is wrong, if it is there to be asked."""
    if headers is None:
        return None
    if not isinstance(headers, Mapping) or not all(isinstance(text, str) for pair in headers.items() for text in pair):
        raise BadArgument("headers", f"`headers` must be a dictionary of texts, not {headers!r}.")
    return dict(headers) or None


def check_headers(headers: Mapping[str, str] | None) -> None:
    """As the broker does."""
    total_bytes = 0
    for name, value in (as_headers(headers) or {}).items():
        value_bytes = len(check_is_text("headers", value))
        if not _is_header_name(name) or value_bytes > MOST_HEADER_VALUE_BYTES or "\0" in value:
            raise BadArgument("headers", f"{HEADERS_RULE}, not {name!r}: {value[:100]!r}.")
        total_bytes += len(name) + value_bytes
    if headers and (len(headers) > MOST_HEADERS or total_bytes > MOST_HEADER_BYTES):
        raise BadArgument("headers", f"{HEADERS_RULE}, not {len(headers)} of {total_bytes} bytes.")


def check_choice(field: str, choice: object, choices: tuple[object, ...]) -> None:
    if choice not in choices:
        allowed = ", ".join(map(repr, choices))
        raise BadArgument(field, f"`{field}` must be one of {allowed}, not {choice!r}.")


def check_post(queue: str, given: Mapping[str, Any]) -> None:
    """All that goes with a post, for those that keep it for later or do not send it at all."""
    check_name("queue", queue)
    for tag in as_tags(given.get("tags", ())):
        check_is_text("tags", tag)
    check_whole("priority", given.get("priority"), 0, LARGEST_PRIORITY)
    for field in ("delay", "ttl"):
        check_seconds(field, given.get(field))
    for field in ("key", "dedupe"):
        check_short_text(field, given.get(field))
    for field in ("group", "unique"):
        check_grouping_text(field, given.get(field))
    for field in ("key", "dedupe", "group", "unique"):
        check_is_text(field, given.get(field) or "")
    check_headers(given.get("headers"))
