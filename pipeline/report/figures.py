"""What the report shows, read from the tables of facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, LiteralString

from psycopg.rows import dict_row

from pipeline.database import Connection

MOST_HOURLY_DAYS = 7  # longer reports show days
LONGEST_TABLE = 200  # rows; what is left out is said
LONGEST_CLUSTERS = 50

Row = dict[str, Any]


@dataclass(frozen=True)
class Period:
    """Days of UTC, both included."""

    first: date
    last: date

    @property
    def grain(self) -> str:
        return "hour" if (self.last - self.first).days < MOST_HOURLY_DAYS else "day"

    @property
    def bounds(self) -> dict[str, Any]:
        past = self.last + timedelta(days=1)
        return {
            "first": f"{self.first}T00:00:00Z",
            "past": f"{past}T00:00:00Z",
            "first_day": self.first,
            "last_day": self.last,
            "grain": self.grain,
        }


@dataclass(frozen=True)
class Listing:
    """The rows that fit, the most important first, and how many there are in all."""

    rows: Sequence[Row]
    total: int


@dataclass(frozen=True)
class Figures:
    period: Period
    made_at: datetime
    last_run: datetime | None
    findings: Sequence[Row]
    totals: Row
    overall: Sequence[Row]
    queues: Listing
    queue_buckets: Sequence[Row]
    services: Listing
    clients: Listing
    nodes: Listing
    clusters: Listing

    @property
    def known_until(self) -> datetime:
        return self.last_run or self.made_at


FINDINGS: LiteralString = """
    SELECT severity, kind, sentence, at FROM willow_health_findings
    ORDER BY array_position(array['critical', 'warning', 'note'], severity::text), abs(score) DESC NULLS LAST, sentence
"""
TOTALS: LiteralString = """
    SELECT coalesce(sum(posted), 0)::bigint AS posted, coalesce(sum(finished + popped), 0)::bigint AS completed,
           coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(dead), 0)::bigint AS dead,
           coalesce(sum(dropped), 0)::bigint AS dropped, coalesce(sum(bytes), 0)::bigint AS bytes,
           count(DISTINCT queue_id) AS queues
    FROM willow_queue_facts WHERE grain = 'day' AND bucket >= %(first)s AND bucket < %(past)s
"""
OVERALL: LiteralString = """
    SELECT bucket, sum(posted)::bigint AS posted, sum(finished + popped)::bigint AS completed,
           sum(failed)::bigint AS failed, sum(dead)::bigint AS dead
    FROM willow_queue_facts WHERE grain = %(grain)s AND bucket >= %(first)s AND bucket < %(past)s
    GROUP BY bucket ORDER BY bucket
"""
# Percentiles of days cannot be put together to that of the whole period, so the worst day stands for it.
QUEUES: LiteralString = """
    SELECT queue_id, max(queue_name) AS queue_name, max(queue_tags) AS queue_tags, sum(posted)::bigint AS posted,
           sum(finished + popped)::bigint AS completed, sum(failed)::bigint AS failed, sum(dead)::bigint AS dead,
           sum(dropped)::bigint AS dropped, sum(bytes)::bigint AS bytes, max(wait_p50) AS wait_p50,
           max(wait_p95) AS wait_p95, max(work_p50) AS work_p50, max(work_p95) AS work_p95,
           max(oldest_age) AS oldest_age, count(*) OVER () AS total
    FROM willow_queue_facts WHERE grain = 'day' AND bucket >= %(first)s AND bucket < %(past)s
    GROUP BY queue_id ORDER BY sum(posted + finished + popped + failed) DESC, queue_id LIMIT %(limit)s
"""
QUEUE_BUCKETS: LiteralString = """
    SELECT queue_id, bucket, posted, finished + popped AS completed, failed, wait_p50, wait_p95, work_p50, work_p95
    FROM willow_queue_facts
    WHERE grain = %(grain)s AND bucket >= %(first)s AND bucket < %(past)s AND queue_id = ANY (%(queues)s)
    ORDER BY queue_id, bucket
"""
SERVICES: LiteralString = """
    SELECT service, sum(requests)::bigint AS requests, sum(answered)::bigint AS answered, sum(failed)::bigint AS failed,
           max(latency_p50) AS latency_p50, max(latency_p95) AS latency_p95, max(latency_p99) AS latency_p99,
           max(latency_max) AS latency_max, count(*) OVER () AS total
    FROM willow_service_facts WHERE grain = 'day' AND bucket >= %(first)s AND bucket < %(past)s
    GROUP BY service ORDER BY sum(requests) DESC, service LIMIT %(limit)s
"""
CLIENTS: LiteralString = """
    SELECT client AS name, sum(finished)::bigint AS finished, sum(failed)::bigint AS failed, max(work_p50) AS work_p50,
           max(work_p95) AS work_p95, max(work_max) AS work_max, count(*) OVER () AS total
    FROM willow_client_facts WHERE grain = 'day' AND bucket >= %(first)s AND bucket < %(past)s
    GROUP BY client ORDER BY sum(finished + failed) DESC, client LIMIT %(limit)s
"""
NODES: LiteralString = """
    SELECT node AS name, sum(finished)::bigint AS finished, sum(failed)::bigint AS failed, max(work_p50) AS work_p50,
           max(work_p95) AS work_p95, max(work_max) AS work_max, count(*) OVER () AS total
    FROM willow_node_facts WHERE grain = 'day' AND bucket >= %(first)s AND bucket < %(past)s
    GROUP BY node ORDER BY sum(finished + failed) DESC, node LIMIT %(limit)s
"""
CLUSTERS: LiteralString = """
    SELECT max(queue_name) AS queue_name, max(queue_tags) AS queue_tags, reason, signature, sum(count)::bigint AS count,
           min(first_seen) AS first_seen, max(last_seen) AS last_seen,
           (array_agg(example ORDER BY last_seen DESC))[1] AS example, count(*) OVER () AS total
    FROM willow_dead_letter_clusters
    WHERE day BETWEEN %(first_day)s AND %(last_day)s
    GROUP BY queue_id, reason, signature ORDER BY sum(count) DESC, max(last_seen) DESC, signature LIMIT %(limit)s
"""
LAST_RUN: LiteralString = """
    SELECT now() AS made_at, (SELECT max(ended_at) FROM willow_pipeline_runs WHERE state = 'done') AS last_run
"""


def read_figures(connection: Connection, period: Period, *, charted_queues: int) -> Figures:
    """In one snapshot, so that the parts of the page agree."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return _read(connection, period, charted_queues)


def _read(connection: Connection, period: Period, charted_queues: int) -> Figures:
    bounds = period.bounds

    def rows(query: LiteralString, **more: Any) -> list[Row]:
        with connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, {**bounds, **more}).fetchall()

    def listing(query: LiteralString, limit: int = LONGEST_TABLE) -> Listing:
        found = rows(query, limit=limit)
        return Listing(found, found[0]["total"] if found else 0)

    queues = listing(QUEUES)
    charted = [queue["queue_id"] for queue in queues.rows[:charted_queues]]
    (times,) = rows(LAST_RUN)
    (totals,) = rows(TOTALS)
    return Figures(
        period=period,
        made_at=times["made_at"],
        last_run=times["last_run"],
        findings=rows(FINDINGS),
        totals=totals,
        overall=rows(OVERALL),
        queues=queues,
        queue_buckets=rows(QUEUE_BUCKETS, queues=charted),
        services=listing(SERVICES),
        clients=listing(CLIENTS),
        nodes=listing(NODES),
        clusters=listing(CLUSTERS, LONGEST_CLUSTERS),
    )
