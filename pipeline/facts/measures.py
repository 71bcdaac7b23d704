"""What the health report looks at, hour by hour: a row for each subject and hour.

A subject is a queue or a client, seen under one aspect (`kind`). Counts of a queue are 0 in hours in which nothing
happened; durations are left out then.
"""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.facts.history import last_complete_hour

LEAST_FINISHED = 20  # messages in an hour from which a client's median says something

# kind -> what is measured, and whether it is odd if that is less than usual
QUEUE_COUNTS = {
    "throughput": ("finished + popped", True),
    "failures": ("failed", False),
    "deaths": ("dead", False),
    "drops": ("dropped", False),
}
QUEUE_DURATIONS = {"waiting_time": "wait_p95", "working_time": "work_p95"}
CLIENT_DURATION = ("slow_consumer", "work_p50")


def queue_measures(queue_hours: DataFrame, now: datetime) -> DataFrame:
    hours = _every_hour(queue_hours, now)
    measures = [
        *(_measure(kind, F.expr(what), True, less) for kind, (what, less) in QUEUE_COUNTS.items()),
        *(_measure(kind, F.col(what), False, False) for kind, what in QUEUE_DURATIONS.items()),
    ]
    return _long(hours.withColumn("client", F.lit(None).cast("string")), measures, F.col("queue_id").cast("string"))


def client_measures(client_hours: DataFrame, now: datetime) -> DataFrame:
    """Of clients that have a name: the others are many under one."""
    busy = client_hours.where((F.col("client") != "") & (F.col("finished") >= LEAST_FINISHED))
    no_queue = {"queue_id": F.lit(None), "queue_name": F.lit(None), "queue_tags": F.lit(None)}
    kind, what = CLIENT_DURATION
    return _long(busy.withColumns(no_queue), [_measure(kind, F.col(what), False, False)], F.col("client"))


def _measure(kind: str, value: Column, is_count: bool, less_is_odd: bool) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        value.cast("double").alias("value"),
        F.lit(is_count).alias("is_count"),
        F.lit(less_is_odd).alias("less_is_odd"),
    )


def _long(hours: DataFrame, measures: Sequence[Column], who: Column) -> DataFrame:
    each = hours.withColumn("who", who).withColumn("measure", F.explode(F.array(*measures)))
    return each.select(
        F.concat_ws("/", "measure.kind", "who").alias("subject"),
        F.col("queue_id").cast("bigint").alias("queue_id"),
        F.col("queue_name").cast("string").alias("queue_name"),
        F.col("queue_tags").cast("array<string>").alias("queue_tags"),
        "client",
        "bucket",
        "measure.*",
    )


def _every_hour(queue_hours: DataFrame, now: datetime) -> DataFrame:
    """Facts have no row for an hour in which nothing happened. Here it gets one, from the queue's first hour on."""
    hours = F.sequence(F.min("bucket"), F.lit(last_complete_hour(now)), F.expr("interval 1 hour"))
    queues = (
        queue_hours.where(F.col("bucket") <= F.lit(last_complete_hour(now)))
        .groupBy("queue_id")
        .agg(F.max("queue_name").alias("queue_name"), F.max("queue_tags").alias("queue_tags"), hours.alias("hours"))
        .withColumn("bucket", F.explode("hours"))
        .drop("hours")
    )
    facts = queue_hours.drop("queue_name", "queue_tags")
    counts = [name for name, kind in facts.dtypes if kind == "bigint" and name != "queue_id"]
    return queues.join(facts, ["queue_id", "bucket"], "left").fillna(0, counts)
