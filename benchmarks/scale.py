"""How much is measured: enough to trust the numbers, or just enough to see that everything works."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scale:
    runs: int  # of which the medians are taken
    seconds: float  # that one measurement lasts
    body_sizes: tuple[int, ...]  # bytes
    backlog: int  # messages waiting in a long queue
    short_backlog: int  # messages waiting in a short one
    lifetime: int  # messages over which memory must stay flat
    idle_connections: int
    swept_sizes: tuple[int, ...]  # of everything that can grow
    journal_rows: int  # over which a run of the pipeline goes while the broker works
    journal_sizes: tuple[int, ...]  # rows of runs that are timed
    follow_seconds: float  # for which the broker works beside `follow`
    follow_runs: int  # of that, by turns with the broker alone
    day_sizes: tuple[int, ...]  # rows of days whose facts are timed
    engine_rows: int  # of which each engine makes facts
    attack_seconds: float  # that one bad client is at it


FULL = Scale(
    runs=5,
    seconds=4.0,
    body_sizes=(100, 1024),
    backlog=1_000_000,
    short_backlog=10_000,
    lifetime=1_000_000,
    idle_connections=1_000,
    swept_sizes=(100, 1_000, 10_000, 100_000, 1_000_000),
    journal_rows=5_000_000,
    journal_sizes=(100_000, 1_000_000, 10_000_000),
    follow_seconds=50.0,
    follow_runs=2,
    day_sizes=(1_000_000, 5_000_000, 20_000_000),
    engine_rows=1_000_000,
    attack_seconds=20.0,
)
QUICK = Scale(
    runs=1,
    seconds=1.5,
    body_sizes=(100,),
    backlog=50_000,
    short_backlog=10_000,
    lifetime=60_000,
    idle_connections=300,
    swept_sizes=(100, 10_000),
    journal_rows=300_000,
    journal_sizes=(100_000, 300_000),
    follow_seconds=40.0,
    follow_runs=1,
    day_sizes=(100_000, 3_000_000),
    engine_rows=300_000,
    attack_seconds=6.0,
)
