"""What Willow must be beside its peers: figures with the peers of the same run as their limits."""

from collections.abc import Iterator
from types import ModuleType

from benchmarks import report
from benchmarks.figures import Bar, Figure
from benchmarks.peers import nats_jetstream, pgmq, rabbitmq, valkey_streams, willow, willow_shared, willow_subscribed
from benchmarks.peers.results import BOTH, COLUMNS, STEADY, Found, values

OURS = (willow, willow_subscribed, willow_shared)
AHEAD = Bar(1.0)
NOT_ABOVE = Bar(1.0, at_most=True)
CORES_AT_MOST = 0.5  # of the server at 500 messages/s
MEASURES = {"per_second": "", "p50": ": p50", "p99": ": p99", "clients": ": client"}


def figures_of(found: Found) -> list[Figure]:
    """Everything that was measured, and then the bars, which are printed."""
    bars = [
        figure for ours in (willow, willow_subscribed, willow_shared) if ours in found for figure in _bars(ours, found)
    ]
    if bars:
        report.print_heading()
        report.print_figures(bars)
    return [*_plain(found), *bars]


def _plain(found: Found) -> Iterator[Figure]:
    for peer, rounds in found.items():
        for column in COLUMNS:
            for what, unit in (("per_second", "messages/s"), ("server", "µs server"), ("clients", "µs clients")):
                if measured := values(rounds, column, what):
                    yield Figure(name=f"{peer.NAME}: {column}", unit=unit, values=measured)
        for what, unit in (("p50", "ms"), ("p99", "ms"), ("server_cores", "cores"), ("client_cores", "cores")):
            yield Figure(name=f"{peer.NAME}: {STEADY}, {what}", unit=unit, values=values(rounds, STEADY, what))


def _bars(ours: ModuleType, found: Found) -> Iterator[Figure]:
    def beside(peer: ModuleType, column: str, what: str, unit: str, bar: Bar) -> Iterator[Figure]:
        if peer in found:
            mine, theirs = (values(found[side], column, what) for side in (ours, peer))
            figure = f"{column}{MEASURES[what]}, {ours.MODE} (limit: {peer.NAME})"
            yield Figure(name=figure, unit=unit, values=mine, limits=theirs, bar=bar)

    for peer in (pgmq, rabbitmq):
        for column in COLUMNS:
            yield from beside(peer, column, "per_second", "messages/s", AHEAD)
    yield from beside(valkey_streams, BOTH, "per_second", "messages/s", AHEAD)
    for what in ("p50", "p99"):
        yield from beside(rabbitmq, STEADY, what, "ms", NOT_ABOVE)
    for peer in (nats_jetstream, rabbitmq):
        for column in COLUMNS:
            yield from beside(peer, column, "clients", "µs", NOT_ABOVE)
    cores = values(found[ours], STEADY, "server_cores")
    limits = [CORES_AT_MOST] * len(cores)
    yield Figure(name=f"server's cores {STEADY}, {ours.MODE}", unit="cores", values=cores, limits=limits, bar=NOT_ABOVE)
