"""Facts per queue and minute by other means: plain SQL where the rows are, and DuckDB over the archive.

They compute the counts and percentiles that cost most, Spark computes all columns: factors are no more than rough.
"""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import duckdb
import psycopg

from benchmarks.figures import Figure
from benchmarks.pipeline.journal import archive, fill
from benchmarks.scale import Scale
from benchmarks.stage import Stage
from pipeline.archive.journal_table import open_journal
from pipeline.archive.staging import read_archived
from pipeline.database import connect
from pipeline.facts.queues import queue_facts
from pipeline.facts.sorting import good_rows
from pipeline.progress import Silent
from pipeline.reading.journal import read_slice
from pipeline.reading.slices import Cut, Slice
from pipeline.run import run as run_pipeline
from pipeline.session import spark_session

FACTS = """
    SELECT date_trunc('minute', ended_at) AS bucket, queue_id, max(queue_name),
           count(*) FILTER (WHERE outcome = 'finished'), count(*) FILTER (WHERE outcome = 'dead'), sum(size),
           {wait_percentiles}, max(wait), {work_percentiles}, max(work)
    FROM (
        SELECT *, extract(epoch FROM assigned_at - posted_at)::float8 AS wait,
               extract(epoch FROM ended_at - assigned_at)::float8 AS work
        FROM {source}
    ) AS journal
    GROUP BY 1, 2
"""


def run(stage: Stage, scale: Scale) -> list[Figure]:
    stage.clear()
    fill(stage, scale.engine_rows)
    with archive(stage) as options, spark_session(options) as spark:
        run_pipeline(spark, options, progress=Silent())
        with connect(options.database_url) as connection:
            files = [file.url for file in open_journal(connection, options.archive).files()]
        whole = Slice(0, 2**62, (Cut(0, 2**62, scale.engine_rows),))

        def noop(rows: object) -> None:
            queue_facts(good_rows(rows)).where("grain = 'minute'").write.format("noop").mode("overwrite").save()

        ways: dict[str, Callable[[], object]] = {
            "plain SQL in PostgreSQL": lambda: _in_postgres(stage.database_url),
            "DuckDB over the archive": lambda: _in_duckdb(files),
            "Spark over the archive": lambda: noop(read_archived(spark, files)),
            "Spark over JDBC": lambda: noop(read_slice(spark, whole, options)),
        }
        timings = {name: [_seconds(way) for _ in range(3)] for name, way in ways.items()}
    plain = timings["plain SQL in PostgreSQL"]
    return [
        Figure(name=f"minute facts of {scale.engine_rows:,} rows: {name}", unit="s", values=values, limits=plain)
        for name, values in timings.items()
    ]


def _seconds(way: Callable[[], object]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


def _in_postgres(url: str) -> None:
    percentiles = "percentile_cont(ARRAY[0.5, 0.9, 0.95, 0.99]) WITHIN GROUP (ORDER BY {})"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_facts("willow_journal_v1", percentiles).encode()).fetchall()


def _in_duckdb(files: list[str]) -> None:
    query = _facts(
        f"read_parquet({[urlsplit(file).path for file in files]})", "quantile_cont({}, [0.5, 0.9, 0.95, 0.99])"
    )
    with duckdb.connect() as connection:
        connection.execute(query).fetchall()


def _facts(source: str, percentiles: str) -> str:
    return FACTS.format(
        source=source, wait_percentiles=percentiles.format("wait"), work_percentiles=percentiles.format("work")
    )
