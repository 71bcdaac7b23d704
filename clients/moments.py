"""Times as people write them: `30m`, `12h`, `90d`, or a date."""

import re
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
SPANS = "30m, 12h or 90d"
DATES = "2030-01-31 or 2030-01-31T18:00Z"
LONGEST = timedelta(days=36_500)


def read_span(text: str) -> timedelta:
    """How long something lasts."""
    if (span := _span(text)) is None:
        raise ValidationError(f"A time span must be written as {SPANS} (at most {LONGEST.days}d), not {text!r}.")
    return span


def read_moment(text: str) -> datetime:
    """A date, or that long from now. A date without a time zone is in UTC."""
    if (span := _span(text)) is not None:
        return timezone.now() + span
    try:
        moment = parse_datetime(text.strip())
    except ValueError:  # well formed, but no such day
        moment = None
    if moment is None:
        raise ValidationError(
            f"A time must be written as {SPANS} from now, or as a date such as {DATES}, not {text!r}."
        )
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _span(text: str) -> timedelta | None:
    written = re.fullmatch(r"(\d{1,10})([smhd])", text.strip())
    if written is None:
        return None
    number, unit = written.groups()
    try:
        span = timedelta(**{UNITS[unit]: int(number)})
    except OverflowError:
        return None
    return span if span <= LONGEST else None
