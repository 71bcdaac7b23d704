"""Which values a schedule may have: one sentence for each that is wrong, by its field."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from delivery.protocol.errors import WillowError
from delivery.protocol.fields import GROUPING_RULE, HEADERS_RULE, TEN_YEARS_SECONDS, U32_MAX, check_headers
from delivery.schedules.cron import cron_fields, zone_named
from delivery.schedules.models import Missed
from queues.definitions import MOST_TAGS, NAME_RULE, TAG_LENGTH, is_name

ADDRESSES = ("/run", "/next")  # that /api/schedules/<name> has behind a schedule's name
UNIQUE_LENGTH = 200  # characters


def check_schedule(values: Mapping[str, Any]) -> None:
    """All values of a schedule together."""
    refusals: dict[str, list[str]] = {}
    for name, (rule, is_kept) in RULES.items():
        if not is_kept(values[name]):
            refusals[name] = [f"This must be {rule}."]
    for check in (_check_plan, _check_span):
        try:
            check(values)
        except ValidationError as refusal:
            refusals |= {name: refusals.get(name, said) for name, said in refusal.message_dict.items()}
    if refusals:
        raise ValidationError(refusals)


def _check_plan(values: Mapping[str, Any]) -> None:
    cron, every = values["cron"], values["every"]
    if cron is None and every is None:
        raise ValidationError({"cron": "A schedule needs `cron`, or `every` with a number of seconds."})
    if cron is not None and every is not None:
        raise ValidationError({"every": "A schedule has `cron` or `every`, not both."})
    if isinstance(cron, str):
        cron_fields(cron)
    if isinstance(values["time_zone"], str):
        zone_named(values["time_zone"])


def _check_span(values: Mapping[str, Any]) -> None:
    starts_at, ends_at = values["starts_at"], values["ends_at"]
    if isinstance(starts_at, datetime) and isinstance(ends_at, datetime) and ends_at < starts_at:
        raise ValidationError({"ends_at": "This must not be before `starts_at`."})


def _is_schedule_name(value: Any) -> bool:
    return isinstance(value, str) and is_name(value) and not value.endswith(ADDRESSES)


def _are_tags(value: Any) -> bool:
    return len(value) <= MOST_TAGS and all(
        isinstance(tag, str) and 0 < len(tag) <= TAG_LENGTH and "\0" not in tag for tag in value
    )


def _are_headers(value: Any) -> bool:
    texts = isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
    try:
        if texts:
            check_headers(dict(value))
    except WillowError:
        return False
    return texts


def _is_number(value: Any, least: float, most: float) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and least <= value <= most


def _is_moment(value: Any) -> bool:
    return value is None or (isinstance(value, datetime) and value.tzinfo is not None)


Rule = tuple[str, Callable[[Any], bool]]

RULES: dict[str, Rule] = {
    "name": (f"{NAME_RULE}, not ending in /run or /next", _is_schedule_name),
    "queue": (NAME_RULE, lambda value: isinstance(value, str) and is_name(value)),
    "tags": (f"at most {MOST_TAGS} tags of 1 to {TAG_LENGTH} characters without NUL", _are_tags),
    "message": (
        "a body of at most WILLOW_MAX_BODY_BYTES bytes",
        lambda value: isinstance(value, (bytes, memoryview)) and len(value) <= settings.WILLOW.max_body_bytes,
    ),
    "headers": (HEADERS_RULE, _are_headers),
    "priority": (
        f"a whole number from 0 to {U32_MAX}",
        lambda value: isinstance(value, int) and _is_number(value, 0, U32_MAX),
    ),
    "ttl": (
        "seconds from 0 to 10 years, or empty",
        lambda value: value is None or _is_number(value, 0, TEN_YEARS_SECONDS),
    ),
    "unique": (
        f"{GROUPING_RULE}, or empty",
        lambda value: (
            value is None or (isinstance(value, str) and 0 < len(value) <= UNIQUE_LENGTH and "\0" not in value)
        ),
    ),
    "cron": ("a text, or empty", lambda value: value is None or isinstance(value, str)),
    "time_zone": ("the name of a time zone", lambda value: isinstance(value, str)),
    "every": (
        "a number of seconds from 1 to 10 years, or empty",
        lambda value: value is None or _is_number(value, 1, TEN_YEARS_SECONDS),
    ),
    "starts_at": ("a time with its zone, or empty", _is_moment),
    "ends_at": ("a time with its zone, or empty", _is_moment),
    "enabled": ("on or off", lambda value: isinstance(value, bool)),
    "missed": (" or ".join(Missed.values), lambda value: value in Missed.values),
}
DEFAULTS: dict[str, Any] = {
    "tags": [],
    "headers": {},
    "priority": 0,
    "ttl": None,
    "unique": None,
    "cron": None,
    "time_zone": "UTC",
    "every": None,
    "starts_at": None,
    "ends_at": None,
    "enabled": True,
    "missed": Missed.SKIP.value,
}
FIELDS = tuple(RULES)
