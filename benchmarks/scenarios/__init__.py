"""One scenario to a file, listed here in the order in which they run.

A scenario has a `NAME` and a function `run(stage, scale)` that returns figures. It finds a fresh broker and empty
tables.
"""

from types import ModuleType

from benchmarks.scenarios import (
    backlog,
    dead_rows,
    groups,
    idle_connections,
    latency,
    memory,
    one_by_one,
    posts,
    request_reply,
)

SCENARIOS: tuple[ModuleType, ...] = (
    posts,
    one_by_one,
    groups,
    latency,
    request_reply,
    backlog,
    dead_rows,
    memory,
    idle_connections,
)
