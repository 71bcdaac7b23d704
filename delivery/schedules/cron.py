"""Cron texts in local time, and what local time is when clocks change.

The library walks over plain local times and knows nothing of zones. What a local time is in the world is decided here,
as docs/protocol.md says: one that clocks skip is the first moment after the gap, and one that comes twice is the first
of the two.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.core.exceptions import ValidationError

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
# Files beside those of the database: each machine's own zone, clocks that count leap seconds, and other names of zones.
NO_ZONE = re.compile("localtime|posixrules|Factory|(posix|right)/.*").fullmatch
# Sunday is both ends of a week: the library reads its name as the first day, also where it ends a range.
RANGE_TO_SUNDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|[1-7])-sun\b", re.IGNORECASE)
FIELDS = 5
CRON_LENGTH = 200  # characters
NO_TIME = timedelta(0)
SOME_TIME = datetime(2024, 1, 1)
EARLIEST, LATEST = datetime(1, 1, 3), datetime(9999, 12, 30)  # a day and more from where datetimes end, in any zone
RULE = (
    "five fields (minute, hour, day of the month, month, day of the week) of numbers, names, lists, ranges and steps, "
    f"or one of {', '.join(NICKNAMES)}"
)


def zone_named(name: str) -> ZoneInfo:
    try:
        if NO_ZONE(name):
            raise ValueError(name)
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError; a folder's name is an OSError
        reason = f"This must be a time zone of the IANA database, such as Europe/Vienna or UTC, not {name[:100]!r}."
        raise ValidationError({"time_zone": reason}) from None


@lru_cache(maxsize=1024)
def cron_fields(text: str) -> str:
    """The five fields, checked; they come due some day."""
    fields = RANGE_TO_SUNDAY.sub(r"\1-7", NICKNAMES.get(text.strip().lower(), text))
    try:
        if len(text) > CRON_LENGTH or len(fields.split()) != FIELDS:
            raise CronSimError("Wrong number of fields")
        next(CronSim(fields, SOME_TIME))
    except StopIteration:
        raise _refused(text, "it never comes due") from None
    except (CronSimError, AssertionError, ValueError, TypeError) as error:
        never = len(fields.split()) == FIELDS and _is_day_that_no_month_has(fields)
        raise _refused(text, "it never comes due" if never else str(error) or "it cannot be read") from None
    return fields


def _is_day_that_no_month_has(fields: str) -> bool:
    """The library refuses 30 February as it refuses day 99; people want to know which of the two it is."""
    minute, hour, day, _, weekday = fields.split()
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", SOME_TIME)
        CronSim(f"{minute} {hour} * {fields.split()[3]} {weekday}", SOME_TIME)
    except (CronSimError, AssertionError, ValueError, TypeError):
        return False
    return True


def _refused(text: str, why: str) -> ValidationError:
    return ValidationError({"cron": f"This must be {RULE}. {text[:CRON_LENGTH]!r} is not: {why}."})


def times_after(fields: str, zone: tzinfo, moment: datetime) -> Iterator[datetime]:
    """Every due time after a moment, in UTC, one after the other."""
    return _times(fields, zone, moment, reverse=False)


def times_until(fields: str, zone: tzinfo, moment: datetime) -> Iterator[datetime]:
    """Every due time up to and including a moment, in UTC, the latest first."""
    return _times(fields, zone, moment + timedelta(microseconds=1), reverse=True)


def _times(fields: str, zone: tzinfo, moment: datetime, *, reverse: bool) -> Iterator[datetime]:
    try:
        yield from _times_in_calendar(fields, zone, moment, reverse=reverse)
    except OverflowError:  # the year 10000, or 0
        return


def _times_in_calendar(fields: str, zone: tzinfo, moment: datetime, *, reverse: bool) -> Iterator[datetime]:
    aware = moment.astimezone(zone)
    local = aware.replace(tzinfo=None, fold=0)
    if reverse:
        # What clocks skipped is due at the end of the gap, and so before this local time or at it.
        local += timedelta(minutes=1)
        # In an hour that comes again, all of it has been there before, also what its clocks do not show yet.
        local += (aware.replace(fold=0).utcoffset() or NO_TIME) - (aware.utcoffset() or NO_TIME)
    last = moment
    for wanted in CronSim(fields, local, reverse=reverse):
        if not EARLIEST < wanted < LATEST:
            return
        due = moment_of(wanted, zone)
        if due < last if reverse else due > last:
            yield due
            last = due


def moment_of(local: datetime, zone: tzinfo) -> datetime:
    """A local time in UTC: the first of two, or the first moment after the gap in which it would be."""
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None, fold=0) == local:
        return first
    return _end_of_gap(local, zone)


def _end_of_gap(local: datetime, zone: tzinfo) -> datetime:
    """Found to the second between two moments: by the offset after the gap it is not over yet, by that before it is."""
    earliest = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    before, after = 0, round((local.replace(tzinfo=zone, fold=0).astimezone(UTC) - earliest).total_seconds())
    old = earliest.astimezone(zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if (earliest + timedelta(seconds=middle)).astimezone(zone).utcoffset() == old:
            before = middle
        else:
            after = middle
    return earliest + timedelta(seconds=after)
