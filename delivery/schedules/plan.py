"""When a schedule is due: by cron in its time zone or every so many seconds, between its beginning and its end."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import islice, takewhile

from delivery.schedules.cron import cron_fields, times_after, times_until, zone_named

A_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`cron` or `every`. With `every`, due times are counted from `anchor`."""

    cron: str | None = None
    zone: tzinfo
    every: timedelta | None = None
    anchor: datetime
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def next_after(self, moment: datetime) -> datetime | None:
        return next(iter(self.after(moment)), None)

    def upcoming(self, moment: datetime, count: int) -> list[datetime]:
        return list(islice(self.after(moment), count))

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Due times after a moment; also a beginning or an end is due itself if the plan meets it."""
        if self.starts_at is not None and self.starts_at > moment:
            moment = self.starts_at - A_MOMENT
        ends_at = self.ends_at
        return takewhile(lambda due: ends_at is None or due <= ends_at, self._after(moment))

    def latest_until(self, moment: datetime, count: int, *, since: datetime) -> list[datetime]:
        """The latest due times up to a moment and not before another, oldest first."""
        if self.ends_at is not None:
            moment = min(moment, self.ends_at)
        if self.starts_at is not None:
            since = max(since, self.starts_at)
        due = takewhile(lambda due: due >= since, self._until(moment))
        return list(islice(due, count))[::-1]

    def _after(self, moment: datetime) -> Iterator[datetime]:
        if self.every is None:
            yield from times_after(cron_fields(self.cron or ""), self.zone, moment)
            return
        number = (moment - self.anchor) // self.every + 1
        yield from self._every(max(number, self._first_number), 1)

    def _until(self, moment: datetime) -> Iterator[datetime]:
        if self.every is None:
            yield from times_until(cron_fields(self.cron or ""), self.zone, moment)
            return
        yield from self._every((moment - self.anchor) // self.every, -1)

    @property
    def _first_number(self) -> int:
        """A schedule that says when it starts is due then; another one when its first interval is over."""
        return 0 if self.starts_at is not None else 1

    def _every(self, number: int, step: int) -> Iterator[datetime]:
        assert self.every is not None
        while number >= self._first_number:
            try:
                due = self.anchor + number * self.every
            except OverflowError:  # the year 10000
                return
            yield due
            number += step


def plan_of(
    *,
    cron: str | None,
    time_zone: str,
    every: float | None,
    anchor: datetime,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> Plan:
    return Plan(
        cron=cron,
        zone=zone_named(time_zone),
        every=None if every is None else timedelta(seconds=every),
        anchor=starts_at or anchor,
        starts_at=starts_at,
        ends_at=ends_at,
    )
