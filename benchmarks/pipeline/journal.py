"""A journal of any length, without living through it: rows as the broker writes them, over the last day."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.stage import Stage
from pipeline.options import Options

ROWS_PER_TRANSACTION = 10_000
QUEUES, CLIENTS = 50, 20

FILL = """
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, poster,
                                  holder, client, node, posted_at, assigned_at, ended_at, size, error)
    SELECT 1000 + i %% %(queues)s, 'queue ' || i %% %(queues)s, '{eu}', i,
           CASE WHEN i %% 100 = 0 THEN 'dead' WHEN i %% 50 = 0 THEN 'retried' ELSE 'finished' END,
           CASE WHEN i %% 50 = 0 THEN 'failed' END, 1, 0, i %% 30, i %% 40, 'client ' || i %% %(clients)s, 'node-1',
           ended_at - wait - work, ended_at - work, ended_at, 100,
           CASE WHEN i %% 50 = 0 THEN 'order ' || i || ' was not found' END
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS i
    CROSS JOIN LATERAL (SELECT now() - interval '10 minutes' - random() * interval '23 hours' AS ended_at,
                               random() * interval '20 s' AS wait, random() * interval '2 s' AS work) AS times
"""


def fill(stage: Stage, rows: int) -> None:
    with psycopg.connect(stage.database_url, autocommit=True) as connection:
        connection.execute("SELECT willow_journal_make_day((now() AT TIME ZONE 'UTC')::date - 1)")
        connection.execute("SET synchronous_commit = off")
        for first in range(1, rows + 1, ROWS_PER_TRANSACTION):
            last = min(first + ROWS_PER_TRANSACTION - 1, rows)
            parameters = {"first": first, "last": last, "queues": QUEUES, "clients": CLIENTS}
            connection.execute(FILL, parameters)
        connection.execute("VACUUM (ANALYZE) delivery_journal")


def forget(stage: Stage) -> None:
    """As if the pipeline had never run."""
    stage.execute(
        "TRUNCATE willow_pipeline_offset, iceberg_tables, willow_archive_leftovers, willow_archive_days,"
        " willow_pending_days, willow_queue_facts, willow_client_facts, willow_node_facts, willow_service_facts"
    )


@contextmanager
def archive(stage: Stage) -> Iterator[Options]:
    """An empty archive, and options that lead to it."""
    with tempfile.TemporaryDirectory(prefix="willow-archive-") as folder:
        place = Path(folder).as_uri()
        yield Options(database_url=stage.database_url, read_url=stage.database_url, archive=place, memory="2g")
    forget(stage)
