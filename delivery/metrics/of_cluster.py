"""What the database tells about the whole cluster. Every node tells the same, so sum nothing of it over nodes."""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from delivery.metrics.of_pipeline import pipeline_families
from delivery.storage.connection import connect, fetch_rows, without_values
from delivery.storage.statements import statement

logger = logging.getLogger(__name__)

STATEMENT_TIMEOUT = 3_000  # milliseconds
READ_SECONDS = 5.0  # for all of it, connecting included
REUSE_FACTOR = 20  # figures that took a second to read are good for twenty
OTHERS = "(others)"

QUEUE_LABELS = ["queue", "tags", "kind", "shard"]
QUEUE_GAUGES = {
    "ready": "Messages that may be handed out; of a stream, those that are retained.",
    "delayed": "Messages whose delay is not over.",
    "in_flight": "Messages that clients hold.",
    "consumers": "Sessions that wait for or hold messages.",
    "paused": "Whether the queue is paused; for the others, how many are.",
}
QUEUE_COUNTERS = {"posted": "Messages that were ever stored.", "ended": "Messages whose life in the queue is over."}

# By metric and label, the columns of metrics_cluster.sql.
CLUSTER_GAUGES: dict[str, tuple[str, dict[str, str]]] = {
    "willow_nodes": (
        "Nodes of the cluster.",
        {"live": "nodes_live", "draining": "nodes_draining", "silent": "nodes_silent"},
    ),
    "willow_sessions": (
        "Sessions with a socket, and those that are held for their client.",
        {"live": "sessions_live", "held": "sessions_held"},
    ),
    "willow_workers": (
        "Workers of services in line, and without a free slot.",
        {"waiting": "workers_waiting", "occupied": "workers_occupied"},
    ),
}
PLAIN_GAUGES = {
    "willow_queues": ("Queues that exist.", "queues"),
    "willow_journal_partitions": ("Days that the journal has a partition for.", "journal_days"),
    "willow_journal_rows": ("Rows of the journal, as PostgreSQL estimates.", "journal_rows"),
    "willow_journal_bytes": ("Size of the journal with its indexes.", "journal_bytes"),
    "willow_messages_bytes": ("Size of the table of live messages with its indexes.", "messages_bytes"),
    "willow_kept_replies_bytes": (
        "Size of the table of replies that are kept, with its indexes.",
        "kept_replies_bytes",
    ),
    "willow_messages_dead_rows": ("Rows of that table that wait for vacuum.", "messages_dead_rows"),
    "willow_oldest_transaction_seconds": (
        "Age of the oldest transaction in the database. A long one keeps vacuum from its work.",
        "oldest_transaction",
    ),
}


@dataclass(frozen=True)
class Rows:
    cluster: Any
    queues: Sequence[Any]
    duties: Sequence[Any]
    pipeline: Sequence[Any]


@dataclass(frozen=True)
class Reading:
    families: list[Metric]
    good_seconds: float  # for which it is to be given out again


async def read_cluster() -> Reading:
    """Never raises: that the database cannot be read is a figure, too."""
    began = time.monotonic()
    rows = None
    try:
        async with asyncio.timeout(READ_SECONDS):
            rows = await _read_rows()
    except (psycopg.Error, TimeoutError) as error:
        reason = without_values(error) if isinstance(error, psycopg.Error) else "it took too long"
        logger.warning("The figures of the cluster could not be read: %s", reason)
    up = GaugeMetricFamily(
        "willow_database_up", "Whether the figures of the cluster could be read.", value=rows is not None
    )
    reuse = (REUSE_FACTOR if rows else 1) * (time.monotonic() - began)
    families = _families(rows) if rows else ()
    return Reading([up, *families], max(settings.WILLOW.metrics_seconds, reuse))


async def _read_rows() -> Rows:
    """On a connection of its own, so that it holds up nothing, and ends with it."""
    async with await connect(application="willow metrics", statement_timeout=STATEMENT_TIMEOUT) as connection:
        lapse = {"lapse": settings.WILLOW.node_lapse}
        most = {"most": settings.WILLOW.metrics_queues}
        [cluster] = await fetch_rows(connection, statement("metrics_cluster"), lapse)
        queues = await fetch_rows(connection, statement("metrics_queues"), lapse | most)
        duties = await fetch_rows(connection, statement("metrics_duties"), {})
        return Rows(cluster, queues, duties, await fetch_rows(connection, statement("metrics_pipeline"), {}))


def _families(rows: Rows) -> Iterator[Metric]:
    for name, (about, column) in PLAIN_GAUGES.items():
        yield GaugeMetricFamily(name, about, value=getattr(rows.cluster, column) or 0)
    for name, (about, columns) in CLUSTER_GAUGES.items():
        family = GaugeMetricFamily(name, about, labels=["state"])
        for state, column in columns.items():
            family.add_metric([state], getattr(rows.cluster, column))
        yield family
    yield from _queue_families(rows.queues)
    yield from _duty_families(rows.duties)
    yield from pipeline_families(rows.pipeline)


def _queue_families(queues: Sequence[Any]) -> Iterator[Metric]:
    labels = [_queue_labels(row) for row in queues]
    for column, about in QUEUE_GAUGES.items():
        gauge = GaugeMetricFamily(f"willow_queue_{column}", about, labels=QUEUE_LABELS)
        for row, named in zip(queues, labels, strict=True):
            gauge.add_metric(named, getattr(row, column))
        yield gauge
    for column, about in QUEUE_COUNTERS.items():
        counter = CounterMetricFamily(f"willow_queue_{column}", about, labels=QUEUE_LABELS)
        for row, named in zip(queues, labels, strict=True):
            counter.add_metric(named, getattr(row, column))
        yield counter
    oldest = GaugeMetricFamily(
        "willow_queue_oldest_seconds", "Age of the oldest message, in whatever state.", labels=QUEUE_LABELS
    )
    for row, named in zip(queues, labels, strict=True):
        oldest.add_metric(named, row.oldest_age or 0)
    yield oldest


def _queue_labels(row: Any) -> list[str]:
    if row.place > settings.WILLOW.metrics_queues:
        return [OTHERS, "", row.kind, ""]
    return [row.name, row.tags, row.kind, str(row.shard)]


def _duty_families(duties: Sequence[Any]) -> Iterator[Metric]:
    age = GaugeMetricFamily("willow_reaper_duty_age_seconds", "How long ago the duty was done.", labels=["duty"])
    seconds = GaugeMetricFamily("willow_reaper_duty_seconds", "How long it took then.", labels=["duty"])
    handled = CounterMetricFamily("willow_reaper_handled", "What the duty ever had to do.", labels=["duty"])
    failed = GaugeMetricFamily("willow_reaper_duty_failed", "Whether it failed then.", labels=["duty"])
    for row in duties:
        age.add_metric([row.duty], row.age)
        seconds.add_metric([row.duty], row.seconds)
        handled.add_metric([row.duty], row.handled_total)
        failed.add_metric([row.duty], row.failed)
    yield from (age, seconds, handled, failed)
