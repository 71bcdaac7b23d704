"""How time and memory grow with a day: facts of one day's rows, of one queue and of many, straight from files.

Java's heap is the pipeline's default, whatever the size: a size that needed more would fail. Each day is computed by a
Java of its own, so that what it needed at most is its own.
"""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.figures import Figure
from benchmarks.scale import Scale
from benchmarks.stage import Stage
from pipeline.archive.staging import read_archived
from pipeline.computing import LARGE_ROWS
from pipeline.facts.queues import queue_facts
from pipeline.facts.scope import Scope
from pipeline.facts.sorting import good_rows
from pipeline.options import DEFAULT_MEMORY, Options
from pipeline.schemas import JOURNAL
from pipeline.session import spark_session

DAY = "2026-01-31T00:00:00Z"
DAY_MICROSECONDS = 86_400_000_000
QUEUES = (1, 1000)
KIB_PER_MIB = 1024


def run(stage: Stage, scale: Scale) -> Iterator[Figure]:
    for rows in scale.day_sizes:
        for queues in QUEUES:
            yield from _in_a_process_of_its_own(stage.database_url, rows, queues)


def _in_a_process_of_its_own(url: str, rows: int, queues: int) -> list[Figure]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured, url, rows, queues).result()


def _measured(url: str, rows: int, queues: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="willow-growth-") as folder:
        options = Options(database_url=url, read_url=url, archive=Path(folder).as_uri(), memory=DEFAULT_MEMORY)
        with spark_session(options) as spark:
            place = f"{options.archive}/day"
            _day(spark, rows, queues).write.parquet(place)
            good = good_rows(read_archived(spark, [place]))
            large = rows > LARGE_ROWS
            whole = _computed(spark, queue_facts(good, Scope(large=large)))
            late = _computed(spark, queue_facts(good, Scope(large=large, late=good.where(F.col("tx") == rows - 1))))
            memory = _most_memory_of_java(spark)
    day = f"a day of {rows:,} rows, {queues:,} {'queue' if queues == 1 else 'queues'}"
    return [
        *(
            Figure(name=f"{kind} for the queue facts of {day}", unit="s", values=[value])
            for kind, value in whole.items()
        ),
        *(Figure(name=f"{kind} after one late row of {day}", unit="s", values=[value]) for kind, value in late.items()),
        Figure(name=f"most memory of Java for {day}", unit="MiB", values=[memory]),
    ]


def _computed(spark: SparkSession, facts: DataFrame) -> dict[str, float]:
    began, worked = time.perf_counter(), _processor_seconds(spark)
    facts.write.format("noop").mode("overwrite").save()
    return {"time": time.perf_counter() - began, "processor time": _processor_seconds(spark) - worked}


def _processor_seconds(spark: SparkSession) -> float:
    """Of Java, which does the work: what else the machine has to do is not in it."""
    java: Any = spark.sparkContext._jvm
    return float(java.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toMillis()) / 1000


def _most_memory_of_java(spark: SparkSession) -> float:
    """What the process ever had of the machine's memory: heap, code and buffers."""
    jvm: Any = spark.sparkContext._jvm
    status = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/status").read_text()
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak) / KIB_PER_MIB


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
