"""What of its due times a schedule posts: late ones always, missed ones as it says."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from delivery.schedules.plan import Plan
from delivery.schedules.steps import Away, step

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
EVERY_MINUTE = Plan(zone=UTC, every=timedelta(minutes=1), anchor=NOON)


def minute(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def minutes(*numbers: float) -> list[datetime]:
    return [minute(number) for number in numbers]


AWAY = Away(minute(2.5), minute(6.5))


def test_what_is_late_is_posted_although_nothing_is_made_up_for() -> None:
    taken = step(EVERY_MINUTE, minute(1), minute(3.2), missed="skip", away=None, most=100)
    assert (taken.due, taken.next_due) == (minutes(1, 2, 3), minute(4))


@pytest.mark.parametrize(
    ("missed", "expected"),
    [("skip", minutes(2, 7, 8)), ("one", minutes(2, 6, 7, 8)), ("all", minutes(2, 3, 4, 5, 6, 7, 8))],
)
def test_what_was_due_while_nothing_ran(missed: str, expected: list[datetime]) -> None:
    taken = step(EVERY_MINUTE, minute(2), minute(8.1), missed=missed, away=AWAY, most=100)
    assert (taken.due, taken.next_due) == (expected, minute(9))


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_in_small_steps_it_comes_to_the_same(missed: str) -> None:
    whole = step(EVERY_MINUTE, minute(2), minute(8.1), missed=missed, away=AWAY, most=100)
    due, following = [], minute(2)
    while following <= minute(8.1):
        taken = step(EVERY_MINUTE, following, minute(8.1), missed=missed, away=AWAY, most=1)
        due += taken.due
        assert taken.next_due is not None
        following = taken.next_due
    assert due == whole.due


def test_at_most_a_thousand_are_made_up_for_the_latest_ones() -> None:
    away = Away(minute(0), minute(5000.5))
    taken = step(EVERY_MINUTE, minute(1), minute(5000.6), missed="all", away=away, most=10_000)
    assert (len(taken.due), taken.due[0], taken.due[-1]) == (1000, minute(4001), minute(5000))


@pytest.mark.parametrize("missed", ["skip", "one", "all"])
def test_a_schedule_that_ended_while_nothing_ran_is_over(missed: str) -> None:
    plan = Plan(zone=UTC, every=timedelta(minutes=1), anchor=NOON, ends_at=minute(4))
    taken = step(plan, minute(3), minute(9), missed=missed, away=AWAY, most=100)
    assert (taken.due, taken.next_due) == ({"skip": [], "one": minutes(4), "all": minutes(3, 4)}[missed], None)


def test_a_beginning_and_an_end_belong_to_the_plan() -> None:
    plan = Plan(zone=UTC, cron="* * * * *", anchor=NOON, starts_at=minute(3), ends_at=minute(5))
    assert plan.upcoming(NOON, 10) == minutes(3, 4, 5)
    every = Plan(zone=UTC, every=timedelta(seconds=90), anchor=minute(3), starts_at=minute(3), ends_at=minute(6))
    assert every.upcoming(NOON, 10) == minutes(3, 4.5, 6)
    assert EVERY_MINUTE.upcoming(NOON, 2) == minutes(1, 2)


def test_intervals_with_a_fraction_do_not_drift() -> None:
    plan = Plan(zone=UTC, every=timedelta(seconds=1.1), anchor=NOON)
    late = NOON + timedelta(seconds=1.1) * 10_000_000
    assert plan.next_after(late) == NOON + timedelta(seconds=1.1) * 10_000_001


def test_a_plan_ends_with_the_calendar() -> None:
    plan = Plan(zone=UTC, every=timedelta(days=3000), anchor=datetime(9990, 1, 1, tzinfo=UTC))
    assert len(plan.upcoming(datetime(9989, 1, 1, tzinfo=UTC), 5)) == 1
    last_year = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    for cron in ("* * * * *", "0 0 1 1 *"):
        assert Plan(zone=ZoneInfo("Asia/Tokyo"), cron=cron, anchor=NOON, starts_at=last_year).upcoming(NOON, 5) == []


def test_a_plan_may_begin_with_the_calendar() -> None:
    year_one = datetime(1, 1, 1, tzinfo=UTC)
    for zone in (UTC, ZoneInfo("America/New_York")):
        plan = Plan(zone=zone, cron="* * * * *", anchor=year_one, starts_at=year_one)
        assert plan.next_after(NOON) == minute(1)
    every = Plan(zone=UTC, every=timedelta(minutes=1), anchor=year_one, starts_at=year_one)
    assert every.next_after(NOON) == minute(1)
