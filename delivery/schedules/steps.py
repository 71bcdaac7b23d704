"""How far a schedule goes in one step: which due times it posts now, missed ones too, and when it is due next."""

from dataclasses import dataclass, field
from datetime import datetime

from delivery.schedules.models import Missed
from delivery.schedules.plan import Plan

MOST_MADE_UP = 1000  # of the due times that nobody watched, with `all`


@dataclass(frozen=True, slots=True)
class Away:
    """A time in which no reaper was there. What was due in it was missed; what is merely late was not."""

    since: datetime
    until: datetime

    def __contains__(self, due: datetime) -> bool:
        return self.since < due <= self.until


@dataclass(slots=True)
class Step:
    due: list[datetime] = field(default_factory=list)
    next_due: datetime | None = None
    error: str | None = None  # why nothing can be posted


def step(plan: Plan, first: datetime, now: datetime, *, missed: str, away: Away | None, most: int) -> Step:
    """From the due time `first` up to now, `most` of them at a time."""
    taken = Step(next_due=first)
    while taken.next_due is not None and taken.next_due <= now and len(taken.due) < most:
        if away is not None and taken.next_due in away:
            taken.next_due = _make_up(plan, taken, missed, away)
            if missed != Missed.ALL:
                continue
        if taken.next_due is not None:
            taken.due.append(taken.next_due)
            taken.next_due = plan.next_after(taken.next_due)
    return taken


def _make_up(plan: Plan, taken: Step, missed: str, away: Away) -> datetime | None:
    """Where it goes on. With `all`, that is a due time that was missed; otherwise they are done with."""
    assert taken.next_due is not None
    if missed == Missed.SKIP:
        return plan.next_after(away.until)
    wanted = MOST_MADE_UP if missed == Missed.ALL else 1
    latest = plan.latest_until(away.until, wanted, since=taken.next_due)
    if missed == Missed.ALL:
        return latest[0] if latest else taken.next_due
    taken.due += latest
    return plan.next_after(away.until)
