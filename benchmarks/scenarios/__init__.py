"""One scenario to a file, listed here in the order in which they run.

A scenario has a `NAME` and a function `run(stage, scale)` that returns figures. It finds a fresh broker and empty
tables.
"""

from types import ModuleType

from benchmarks.scenarios import (
    backlog,
    dead_rows,
    fan_out,
    group_order,
    groups,
    idle_connections,
    latency,
    limit_changes,
    limits,
    memory,
    message_list,
    one_by_one,
    overview,
    posts,
    request_reply,
    tag_subscriptions,
    unrelated_subscriptions,
)

SCENARIOS: tuple[ModuleType, ...] = (
    posts,
    one_by_one,
    groups,
    limits,
    limit_changes,
    group_order,
    latency,
    request_reply,
    fan_out,
    tag_subscriptions,
    unrelated_subscriptions,
    backlog,
    dead_rows,
    message_list,
    overview,
    memory,
    idle_connections,
)
