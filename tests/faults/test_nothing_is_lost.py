"""A cluster under faults, and the checker on what its clients saw: the short form of `./willow faults`."""

from faults.checker import SAFETY
from faults.report import findings
from faults.willow.run import Plan, carry_out
from faults.willow.troubles.network import NETWORK_TROUBLES
from faults.willow.troubles.processes import PROCESS_TROUBLES
from faults.willow.troubles.storage import STORAGE_TROUBLES

TROUBLES = (*PROCESS_TROUBLES, *STORAGE_TROUBLES, *NETWORK_TROUBLES)  # which no machine forbids
SECONDS = 120
FEWEST_FAULTS = 5  # that two minutes have room for, with the longest pauses


def test_nothing_is_lost_in_two_minutes_of_faults() -> None:
    """Only what must hold on any machine is judged, however slow: no times."""
    outcome = carry_out(Plan(TROUBLES, seed=2026, rate=30, bulk_rate=300, seconds=SECONDS, judges=SAFETY), print)
    assert list(findings(outcome.judgement)) == []
    assert len(outcome.faults) >= FEWEST_FAULTS
    seen = outcome.judgement.counts
    assert min(seen["told"], seen["received"], seen["confirmed"]) > 0
