"""What a cluster uses: memory and file descriptors of its processes, sizes of its tables."""

from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from faults.willow.cluster import FaultyCluster
from tests.support.cluster import WillowProcess

Row = tuple[str, str]  # what, and how much

# The journal grows with every message and is left out; what is live must not grow.
TABLES = """
    SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint,
           coalesce(sum(s.n_dead_tup), 0)::bigint, coalesce(sum(s.autovacuum_count), 0)::bigint
    FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE c.relname NOT LIKE 'delivery_journal%%' AND (%s = '' OR c.relname = %s)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """In bytes, but for `descriptors`, `dead_rows` and `vacuums`."""

    brokers: int  # memory of all of them
    reapers: int
    descriptors: int
    tables: int
    indexes: int
    dead_rows: int
    vacuums: int


def usage(cluster: FaultyCluster, table: str = "") -> Usage:
    """`table`: only its sizes; otherwise those of all but the journal."""
    brokers, reapers = _processes(cluster.nodes), _processes(cluster.reapers)
    sizes = cluster.query(TABLES, table, table)[0]
    descriptors = sum(process.num_fds() for process in brokers + reapers)
    return Usage(_memory(brokers), _memory(reapers), descriptors, *sizes)


def _processes(of: Iterable[WillowProcess]) -> list[psutil.Process]:
    return [psutil.Process(process.pid) for process in of]


def _memory(processes: list[psutil.Process]) -> int:
    return sum(process.memory_info().rss for process in processes)


def megabytes(size: float) -> str:
    return f"{size / 1_000_000:,.1f} MB"


def spread(seconds: list[float]) -> str:
    """The median and the 99th of a hundred, in milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return "never"
    middle, late = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return f"{1000 * middle:.0f} ms (median), {1000 * late:.0f} ms (99 of 100), {len(ordered)} times"
