"""A cluster under faults, and the checker on what its clients saw: the short form of `./willow faults`."""

from faults.checker import SAFETY
from faults.report import findings
from faults.willow.run import Plan, carry_out
from faults.willow.troubles.network import NETWORK_TROUBLES
from faults.willow.troubles.processes import PROCESS_TROUBLES

FAULTS = ("a broker killed (kill -9)", "PostgreSQL killed (kill -9)", "all client sockets reset")


def test_nothing_is_lost_while_a_broker_the_storage_and_connections_die() -> None:
    """Only what must hold on any machine is judged, however slow: no times."""
    troubles = [trouble for trouble in (*PROCESS_TROUBLES, *NETWORK_TROUBLES) if trouble.name in FAULTS]
    outcome = carry_out(Plan(troubles, seed=3, rate=30, bulk_rate=300, faults=3, judges=SAFETY), print)
    assert list(findings(outcome.judgement)) == []
    assert len(outcome.faults) >= len(FAULTS)
    seen = outcome.judgement.counts
    assert min(seen["told"], seen["received"], seen["confirmed"]) > 0
