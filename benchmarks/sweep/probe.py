"""Every hot command, one at a time, and what PostgreSQL did for it."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.driven.broker import DrivenBroker
from benchmarks.driven.counters import Reading
from benchmarks.sweep.growth import QUEUE

TIMES = 30  # each command in one probe


@dataclass(frozen=True)
class Cost:
    """Of one command."""

    cpu: float  # microseconds of PostgreSQL's
    wal: float  # bytes that its statements wrote
    pages: float
    seconds: float  # until it was answered


# In an order that leaves as many messages as there were.
COMMANDS: Mapping[str, tuple[str, dict[str, object]]] = {
    "post": ("post", {}),
    "post with dedupe": ("post", {"unique": ["dedupe"]}),
    "pop": ("pop", {}),
    "fetch": ("fetch", {}),
    "keepalive": ("keepalive", {}),
    "fail": ("fail", {}),
    "fetch again": ("fetch", {}),
    "finish": ("finish", {}),
}


def probe(broker: DrivenBroker) -> dict[str, Cost]:
    costs = {}
    reading = broker.counters.read()
    for name, (order, fields) in COMMANDS.items():
        seconds = broker.order(order, QUEUE, TIMES, **fields)
        before, reading = reading, broker.counters.read()
        costs[name] = _for_each(reading - before, seconds)
    return costs


def _for_each(spent: Reading, seconds: float) -> Cost:
    return Cost(spent.cpu / 1000 / TIMES, spent.statement_wal / TIMES, spent.pages / TIMES, seconds / TIMES)
