"""Cron texts in local time: judged by two libraries that know zones, and where those differ by docs/protocol.md."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from django.core.exceptions import ValidationError

from delivery.schedules.cron import cron_fields, times_after, times_until, zone_named

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = datetime(2026, 3, 28, 12, tzinfo=UTC)  # clocks go from 02:00 to 03:00 in the next night
AUTUMN = datetime(2026, 10, 24, 12, tzinfo=UTC)  # and from 03:00 to 02:00


def local(text: str, since: datetime, count: int, zone: ZoneInfo = BERLIN) -> list[str]:
    times = islice(times_after(cron_fields(text), zone, since), count)
    return [time.astimezone(zone).strftime("%d %H:%M %z") for time in times]


def test_a_time_that_does_not_exist_runs_at_the_first_moment_after() -> None:
    assert local("30 2 * * *", SPRING, 2) == ["29 03:00 +0200", "30 02:30 +0200"]


def test_what_clocks_skip_is_due_once_with_what_is_due_then() -> None:
    assert local("*/30 1-3 * * *", SPRING, 4) == [
        "29 01:00 +0100",
        "29 01:30 +0100",
        "29 03:00 +0200",
        "29 03:30 +0200",
    ]


def test_a_time_that_comes_twice_runs_once() -> None:
    assert local("30 2 * * *", AUTUMN, 2) == ["25 02:30 +0200", "26 02:30 +0100"]
    assert local("0 1-4 * * *", AUTUMN, 4) == ["25 01:00 +0200", "25 02:00 +0200", "25 03:00 +0100", "25 04:00 +0100"]


def test_from_within_the_hour_that_comes_twice() -> None:
    in_the_second = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    assert local("15 2 * * *", in_the_second, 1) == ["26 02:15 +0100"]


def test_a_day_that_a_zone_left_out() -> None:
    assert local("0 12 * * *", datetime(2011, 12, 30, tzinfo=UTC), 2, ZoneInfo("Pacific/Apia")) == [
        "31 00:00 +1400",
        "31 12:00 +1400",
    ]


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "UTC"]
)
@pytest.mark.parametrize("text", ["30 2 * * *", "0 0 * * *", "15 1,2,3 * * *", "0 9 1 * MON", "59 23 L * *"])
def test_jobs_at_fixed_times_are_due_when_the_library_says_so(zone: str, text: str) -> None:
    """For a year over both changes. Its own handling of zones is that of Debian's cron."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    known = ZoneInfo(zone)
    expected = [due.astimezone(UTC) for due in islice(CronSim(text, begin.astimezone(known)), 400)]
    assert list(islice(times_after(cron_fields(text), known, begin), 400)) == expected


@pytest.mark.parametrize("since", [SPRING, AUTUMN])
@pytest.mark.parametrize("text", ["*/20 * * * *", "30 2 * * *", "@hourly", "@daily"])
def test_backwards_is_the_same(since: datetime, text: str) -> None:
    until = since + timedelta(days=2)
    forwards = [due for due in islice(times_after(cron_fields(text), BERLIN, since), 500) if due <= until]
    backwards = [due for due in islice(times_until(cron_fields(text), BERLIN, until), 500) if due > since]
    assert backwards[::-1] == forwards


def test_backwards_from_within_the_hour_that_comes_twice() -> None:
    in_the_second = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    backwards = islice(times_until(cron_fields("*/20 * * * *"), BERLIN, in_the_second), 4)
    shown = [due.astimezone(BERLIN).strftime("%H:%M %z") for due in backwards]
    assert shown == ["02:40 +0200", "02:20 +0200", "02:00 +0200", "01:40 +0200"]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [("fri-sun", "5-7"), ("Mon-SUN", "1-7"), ("wed,sat-sun", "3,6-7"), ("mon-sun/3", "1-7/3"), ("5-sun", "5-7"),
     ("sun-tue", "0-2"), ("sun-sun", "0"), ("sun", "7")],
)  # fmt: skip
def test_sunday_begins_a_range_of_names_and_ends_one(names: str, numbers: str) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    by_name, by_number = (
        list(islice(times_after(cron_fields(f"0 0 * * {weekdays}"), BERLIN, begin), 20))
        for weekdays in (names, numbers)
    )
    assert by_name == by_number


@pytest.mark.parametrize(
    "text", ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "0 0 0 * *", "* * * 13 *", "* * * * 8",
             "@reboot", "a b c d e", "*/0 * * * *", "5-1 * * * *", "* * * * 1L/2", "\0", "1" * 500]
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        cron_fields(text)
    assert "five fields" in refused.value.message_dict["cron"][0]


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *"])
def test_what_never_comes_due_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="never comes due"):
        cron_fields(text)


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "Europe", "/etc/localtime", "a\0b",
                                  "localtime", "right/Europe/Vienna", "posix/UTC", "Factory"])  # fmt: skip
def test_unknown_zones_are_refused(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        zone_named(name)
    assert "time_zone" in refused.value.message_dict
