"""What happened in each queue, per minute, hour and day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.facts.buckets import in_buckets
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import count_where, is_failed_attempt, is_outcome
from pipeline.facts.percentiles import duration_facts, seconds
from pipeline.schemas import QUEUE_FACTS

KEYS = ["grain", "bucket", "queue_id"]
OUTCOME_COUNTS = ("finished", "popped", "retried", "dead", "dropped")


def queue_facts(good_rows: DataFrame) -> DataFrame:
    ended = in_buckets(good_rows, "ended_at")
    counts = _counts(ended, _posted(good_rows))
    durations = duration_facts(ended, KEYS, ["wait", "work"])
    facts = counts.join(_dead_by_reason(ended), KEYS, "left").join(durations, KEYS, "left")
    return conforming(facts.fillna("{}", ["dead_by_reason"]), QUEUE_FACTS)


def _posted(good_rows: DataFrame) -> DataFrame:
    """One row for each message that came to its end, in the bucket in which it was posted."""
    lives = good_rows.where("ends_life").select("queue_id", "queue_name", "queue_tags", "posted_at")
    return in_buckets(lives, "posted_at").withColumn("is_post", F.lit(True))


def _counts(ended: DataFrame, posted: DataFrame) -> DataFrame:
    """A queue's number stands for one name and set of tags; `max` because Spark wants an aggregate."""
    return (
        ended.unionByName(posted, allowMissingColumns=True)
        .groupBy(*KEYS)
        .agg(
            F.max("queue_name").alias("queue_name"),
            F.max("queue_tags").alias("queue_tags"),
            count_where(F.col("is_post")).alias("posted"),
            *(count_where(is_outcome(outcome)).alias(outcome) for outcome in OUTCOME_COUNTS),
            count_where(is_failed_attempt()).alias("failed"),
            F.coalesce(F.sum(F.when(F.col("ends_life"), F.col("size"))), F.lit(0)).alias("bytes"),
            seconds(F.max(F.when(F.col("ends_life"), F.col("age")))).alias("oldest_age"),
        )
    )


def _dead_by_reason(ended: DataFrame) -> DataFrame:
    """The deaths of each bucket as a JSON object, keys sorted."""
    by_reason = (
        ended.where(is_outcome("dead"))
        .groupBy(*KEYS, F.coalesce("reason", F.lit("unknown")).alias("reason"))
        .agg(F.count("*").alias("deaths"))
    )
    return by_reason.groupBy(*KEYS).agg(_json_object("reason", "deaths").alias("dead_by_reason"))


def _json_object(key: str, value: str) -> Column:
    entries = F.array_sort(F.collect_list(F.struct(key, value)))
    return F.to_json(F.map_from_entries(entries))
