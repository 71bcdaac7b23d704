"""Which values the settings of a queue may have: one rule for each, and the sentence for who breaks it."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import ValidationError

from queues.integer_ranges import BIGINT_MAX, INTEGER_MAX
from queues.models import Kind, Overflow

LONGEST_SECONDS = 10 * 365 * 86_400
MOST_A_SECOND = 1_000_000  # messages
LEAST_A_SECOND = 1e-9  # one in 31 years: the time to wait for it is still a number that can be computed with
RATE_RULE = f"messages a second, from {LEAST_A_SECOND:.9f} to {MOST_A_SECOND}"


def _between(least: float, most: float) -> Callable[[Any], bool]:
    return lambda value: value is not None and least <= value <= most


def _empty_or(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or rule(value)


Rule = tuple[Callable[[Any], bool], str]

SECONDS: Rule = (_between(0, LONGEST_SECONDS), "seconds, from 0 to 10 years")
IN_FLIGHT: Rule = (
    _empty_or(_between(1, INTEGER_MAX)),
    f"a whole number from 1 to {INTEGER_MAX}, or empty: no bound",
)
SWITCH: Rule = (lambda value: isinstance(value, bool), "on or off")

RULES: dict[str, Rule] = {
    "kind": (lambda value: value in Kind.values, " or ".join(Kind.values)),
    "retry_limit": (
        _empty_or(_between(0, INTEGER_MAX)),
        f"a whole number from 0 to {INTEGER_MAX}, or empty if messages are never given up",
    ),
    "heartbeat_timeout": (
        lambda value: value is not None and 0 < value <= LONGEST_SECONDS,
        "seconds, above 0 and at most 10 years",
    ),
    "retry_delay": SECONDS,
    "retry_backoff": (_between(1, 100), "a factor from 1 to 100"),
    "retry_delay_max": SECONDS,
    "max_length": (_empty_or(_between(1, BIGINT_MAX)), "a whole number above 0, or empty: no bound"),
    "overflow": (lambda value: value in Overflow.values, " or ".join(Overflow.values)),
    "updatable": SWITCH,
    "keep_bodies": SWITCH,
    "retention_seconds": (_empty_or(SECONDS[0]), f"{SECONDS[1]}, or empty: no bound"),
    "retention_count": (_empty_or(_between(1, BIGINT_MAX)), "a whole number above 0, or empty: no bound"),
    "retention_acked": SWITCH,
    "group_in_flight": IN_FLIGHT,
    "max_in_flight": IN_FLIGHT,
    "rate": (
        _empty_or(_between(LEAST_A_SECOND, MOST_A_SECOND)),
        f"{RATE_RULE}, or empty: no bound",
    ),
    "burst": (
        _empty_or(_between(1, MOST_A_SECOND)),
        f"a number of messages from 1 to {MOST_A_SECOND}, or empty: 1, or the rate if that is more",
    ),
    "keep_replies": (_empty_or(SECONDS[0]), f"{SECONDS[1]}, or empty: replies are not kept"),
}
# Of how messages are claimed, and nobody claims messages of a stream.
NOT_ON_STREAMS = ("group_in_flight", "max_in_flight", "rate", "burst")


def check_settings(settings: Mapping[str, Any], *, kind: str | None = None) -> None:
    """Refuse with one sentence for each setting that is wrong. `kind`: where they do not say it."""
    refusals = {
        name: f"This must be {RULES[name][1]}." for name, value in settings.items() if not RULES[name][0](value)
    }
    if settings.get("kind", kind) == Kind.STREAM:
        on_stream = [name for name in NOT_ON_STREAMS if settings.get(name) is not None]
        refusals |= {name: f"`{name}` does not exist on streams: nobody claims their messages." for name in on_stream}
    if refusals:
        raise ValidationError(refusals)
