"""How the time of a run grows with the journal, and what a second JDBC connection is worth."""

import time
from dataclasses import replace

from pyspark.sql import SparkSession

from benchmarks.figures import Figure
from benchmarks.pipeline.journal import archive, fill
from benchmarks.scale import Scale
from benchmarks.stage import Stage
from pipeline.database import connect, horizon
from pipeline.options import Options
from pipeline.progress import Silent
from pipeline.reading.journal import read_slice
from pipeline.reading.slices import slices
from pipeline.run import run as run_pipeline
from pipeline.session import spark_session

CONNECTIONS = (1, 2, 4)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    figures = []
    with archive(stage) as options, spark_session(options) as spark:
        _timed(stage, spark, 1000)  # Spark's first run is slow whatever it reads
        for rows in scale.journal_sizes:
            figures.append(_timed(stage, spark, rows))
        figures += _connections(spark, options)
    return figures


def _timed(stage: Stage, spark: SparkSession, rows: int) -> Figure:
    stage.clear()
    fill(stage, rows)
    with archive(stage) as options:
        began = time.perf_counter()
        done = run_pipeline(spark, options, progress=Silent())
        seconds = time.perf_counter() - began
    return Figure(
        name=f"run over {rows:,} rows", unit="rows/s", values=[done.rows / seconds], notes={"seconds": seconds}
    )


def _connections(spark: SparkSession, options: Options) -> list[Figure]:
    """Reading what the last size left in the journal, without doing anything with it."""
    return [
        Figure(
            name=f"reading over {count} JDBC connections",
            unit="rows/s",
            values=[_read(spark, options, count) for _ in range(3)],
        )
        for count in CONNECTIONS
    ]


def _read(spark: SparkSession, options: Options, connections: int) -> float:
    rows = min(1_000_000, _rows(options))
    options = replace(options, slice_rows=rows, partition_rows=-(-rows // connections))
    with connect(options.database_url) as connection:
        slice_ = next(slices(connection, 0, horizon(connection), options))
    began = time.perf_counter()
    read_slice(spark, slice_, options).write.format("noop").mode("overwrite").save()
    return slice_.rows / (time.perf_counter() - began)


def _rows(options: Options) -> int:
    with connect(options.database_url) as connection:
        row = connection.execute("SELECT count(*) FROM willow_journal_v1").fetchone()
    assert row is not None
    return int(row[0])
