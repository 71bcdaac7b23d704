"""The reaper's duties, and when each last ran."""

from dataclasses import dataclass
from datetime import datetime

from delivery.figures.database import rows_of
from delivery.reaper.duty import Duty
from delivery.reaper.loop import DUTIES, ONE_ACTIVE_REAPER
from delivery.reaper.models import DutyRun


@dataclass(frozen=True, slots=True)
class ActiveReaper:
    pid: int
    application: str
    address: str
    connected_at: datetime
    waiting: int  # reapers that would take over


@dataclass(frozen=True, slots=True)
class DutyReport:
    name: str
    about: str
    every: float  # seconds; 0: each round
    last: DutyRun | None


def active_reaper() -> ActiveReaper | None:
    rows = rows_of("active_reaper", {"lock": ONE_ACTIVE_REAPER})
    return ActiveReaper(**rows[0]) if rows else None


def duty_reports(runs: list[DutyRun]) -> list[DutyReport]:
    """Every duty there is, in the order in which the reaper does them."""
    by_name = {run.duty: run for run in runs}
    return [DutyReport(duty.name, _about(duty), duty.every, by_name.get(duty.name)) for duty in DUTIES]


def _about(duty: Duty) -> str:
    """The first line of its function's docstring."""
    return (duty.run_once.__doc__ or "").strip().partition("\n")[0]
