"""How time grows with a day: facts of one day's rows, of one queue and of many, straight from files.

Java's heap is the pipeline's default, whatever the size: a size that needed more would fail.
"""

import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.figures import Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage
from pipeline.archive.staging import read_archived
from pipeline.computing import LARGE_ROWS
from pipeline.facts.queues import queue_facts
from pipeline.facts.sorting import good_rows
from pipeline.options import DEFAULT_MEMORY, Options
from pipeline.schemas import JOURNAL
from pipeline.session import spark_session

DAY = "2026-01-31T00:00:00Z"
DAY_MICROSECONDS = 86_400_000_000
QUEUES = (1, 1000)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    url = stage.database_url
    figures = []
    with tempfile.TemporaryDirectory(prefix="willow-growth-") as folder:
        options = Options(database_url=url, read_url=url, archive=Path(folder).as_uri(), memory=DEFAULT_MEMORY)
        with spark_session(options) as spark:
            for rows in scale.day_sizes:
                figures += [_measured(spark, f"{options.archive}/{rows}-{queues}", rows, queues) for queues in QUEUES]
    return figures


def _measured(spark: SparkSession, place: str, rows: int, queues: int) -> Figure:
    _day(spark, rows, queues).write.parquet(place)
    began = time.perf_counter()
    facts = queue_facts(good_rows(read_archived(spark, [place])), large=rows > LARGE_ROWS)
    facts.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    return Figure(
        name=f"queue facts of a day of {rows:,} rows, {queues:,} queues",
        unit="s",
        values=[seconds],
    )


def _day(spark: SparkSession, rows: int, queues: int) -> DataFrame:
    """Durations of all magnitudes, most of them short, as they are."""
    start = F.unix_micros(F.to_timestamp(F.lit(DAY)))
    ended = start + (F.rand(1) * DAY_MICROSECONDS).cast("bigint")
    numbered = spark.range(rows).withColumns(
        {
            "ended": ended,
            "work": (F.exp(F.randn(2) * 2) * 50_000).cast("bigint"),
            "wait": (F.exp(F.randn(3) * 2) * 200_000).cast("bigint"),
            "queue": F.col("id") % queues,
        }
    )
    said = {
        "queue_id": F.col("queue"),
        "queue_name": F.concat(F.lit("queue "), "queue"),
        "queue_tags": F.array(F.lit("eu")),
        "outcome": F.lit("finished"),
        "posted_at": F.timestamp_micros(F.col("ended") - F.col("work") - F.col("wait")),
        "assigned_at": F.timestamp_micros(F.col("ended") - F.col("work")),
        "ended_at": F.timestamp_micros("ended"),
        "size": F.lit(100),
        "attempt": F.lit(1),
        "priority": F.lit(0),
        "index": F.col("id"),
        "tx": F.col("id"),
    }
    columns = (said.get(field.name, F.col("id") if field.name == "id" else F.lit(None)) for field in JOURNAL)
    return numbered.select(
        *(column.cast(field.dataType).alias(field.name) for column, field in zip(columns, JOURNAL, strict=True))
    )
