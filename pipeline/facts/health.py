"""The health report: what in the last day was unlike the weeks before, and which queues nobody consumes.

Each finding is one sentence for a person. Of one subject and kind there is one finding: the most unusual hour.
"""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipeline.facts import phrases
from pipeline.facts.conforming import conforming
from pipeline.facts.history import judged, last_complete_hour
from pipeline.facts.measures import client_measures, queue_measures
from pipeline.facts.queue_names import DEAD_SUFFIX
from pipeline.schemas import HEALTH_FINDINGS

# Scores from which a finding is one.
NOTE, WARNING, CRITICAL = 4, 6, 10

UNCONSUMED_HOURS = 24


def health_findings(queue_hours: DataFrame, client_hours: DataFrame, queues: DataFrame, now: datetime) -> DataFrame:
    """Findings over the hourly facts of the last weeks and the queues as they are."""
    values = queue_measures(queue_hours, now).unionByName(client_measures(client_hours, now))
    odd = _odd(judged(values, now))
    standing = _unconsumed(queues, queue_hours, now).unionByName(_paused(queues, now))
    return conforming(odd.unionByName(standing, allowMissingColumns=True), HEALTH_FINDINGS)


def _odd(scored: DataFrame) -> DataFrame:
    """The most unusual hour of each subject, if it is unusual enough. Less is odd only where more is good."""
    excess = F.when(F.col("less_is_odd"), F.abs("score")).otherwise(F.col("score"))
    strongest = Window.partitionBy("subject").orderBy(F.desc("excess"), F.desc("bucket"))
    return (
        scored.withColumn("excess", excess)
        .where(F.col("excess") >= NOTE)
        .withColumn("place", F.row_number().over(strongest))
        .where("place = 1")
        .withColumn("severity", _severity())
        .withColumn("sentence", phrases.odd_hour())
        .withColumn("at", F.col("bucket"))
    )


def _severity() -> Column:
    """That more was done than usual is worth knowing, and no cause for alarm."""
    more_of_a_good_thing = F.col("less_is_odd") & (F.col("score") > 0)
    return (
        F.when(more_of_a_good_thing | (F.col("excess") < WARNING), F.lit("note"))
        .when(F.col("excess") < CRITICAL, F.lit("warning"))
        .otherwise(F.lit("critical"))
    )


def _unconsumed(queues: DataFrame, queue_hours: DataFrame, now: datetime) -> DataFrame:
    """Work queues in which messages live, that nobody reads, and of which nothing was taken for a day."""
    recently = F.col("bucket") >= F.lit(last_complete_hour(now) - timedelta(hours=UNCONSUMED_HOURS - 1))
    taken = F.col("finished") + F.col("popped") + F.col("failed") > 0
    consumed = queue_hours.where(recently & taken).select("queue_id").distinct()
    waiting = _waiting(queues).where(
        ~F.col("paused")
        & (F.col("readers") == 0)
        & (F.col("defined_at") < F.lit(now - timedelta(hours=1)))
        & ~F.endswith("queue_name", F.lit(DEAD_SUFFIX))
    )
    return (
        waiting.join(consumed, "queue_id", "left_anti")
        .withColumn("kind", F.lit("unconsumed"))
        .withColumn("severity", F.lit("warning"))
        .withColumn("sentence", phrases.unconsumed(UNCONSUMED_HOURS))
        .withColumn("at", F.lit(now))
    )


def _paused(queues: DataFrame, now: datetime) -> DataFrame:
    return (
        _waiting(queues)
        .where("paused")
        .withColumn("kind", F.lit("paused"))
        .withColumn("severity", F.lit("note"))
        .withColumn("sentence", phrases.paused())
        .withColumn("at", F.lit(now))
    )


def _waiting(queues: DataFrame) -> DataFrame:
    """Work queues with live messages. A stream's messages wait for nobody."""
    return queues.where((F.col("kind") == "work") & (F.col("live") > 0)).withColumn(
        "value", F.col("live").cast("double")
    )
