"""What happened in each queue, per minute, hour and day."""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.facts.buckets import in_buckets
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import count_where, is_failed_attempt, is_outcome
from pipeline.facts.percentiles import facts_by, seconds
from pipeline.facts.scope import EVERYTHING, Scope, in_scope
from pipeline.schemas import GRAINS, QUEUE_FACTS

KEYS = ["grain", "bucket", "queue_id"]
NAME = ["queue_id", "queue_name", "queue_tags"]
NO_DEATHS = "{}"
OUTCOME_COUNTS = ("finished", "popped", "retried", "dead", "dropped")

# In the order in which they are written; a reason that is missing or not among them counts as unknown.
DEATH_REASONS = ("disconnected", "expired", "failed", "operator", "overflow", "retention", "timeout")


def queue_facts(good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame:
    happened = in_scope(partial(_happened, grains=scope.grains), good_rows, KEYS, scope)
    counts = [*_counts(), _dead_by_reason().alias("dead_by_reason")]
    return conforming(facts_by(happened, KEYS, counts, ["wait", "work"], large=scope.large), QUEUE_FACTS)


def with_posted(facts: DataFrame, good_rows: DataFrame) -> DataFrame:
    """Queue facts in which `posted` is counted again from the rows, and nothing else is changed."""
    posted = _posted(good_rows, GRAINS).select(*KEYS, F.struct("queue_name", "queue_tags", "posts").alias("now"))
    counts = [name for name, kind in facts.dtypes if kind == "bigint" and name not in ("queue_id", "posted")]
    merged = (
        facts.drop("posted")
        .join(posted, KEYS, "full_outer")
        .withColumn("posted", F.coalesce("now.posts", F.lit(0)))
        .withColumn("queue_name", F.coalesce("queue_name", "now.queue_name"))
        .withColumn("queue_tags", F.coalesce("queue_tags", "now.queue_tags"))
        .fillna(0, counts)
        .fillna(NO_DEATHS, ["dead_by_reason"])
    )
    return conforming(merged, QUEUE_FACTS)


def _happened(good_rows: DataFrame, grains: Sequence[str]) -> DataFrame:
    ended = good_rows.select(*NAME, "outcome", "reason", "ends_life", "size", "age", "wait", "work", "ended_at")
    return in_buckets(ended, "ended_at", grains).unionByName(_posted(good_rows, grains), allowMissingColumns=True)


def _posted(good_rows: DataFrame, grains: Sequence[str]) -> DataFrame:
    """How many messages that came to their end were posted in each bucket: counted before they are brought together
    with the rest, which needs each of its rows."""
    lives = good_rows.where("ends_life").select(*NAME, "posted_at")
    return in_buckets(lives, "posted_at", grains).groupBy("grain", "bucket", *NAME).agg(F.count("*").alias("posts"))


def _counts() -> list[Column]:
    """A queue's number stands for one name and set of tags; `max` because Spark wants an aggregate."""
    return [
        F.max("queue_name").alias("queue_name"),
        F.max("queue_tags").alias("queue_tags"),
        F.coalesce(F.sum("posts"), F.lit(0)).alias("posted"),
        *(count_where(is_outcome(outcome)).alias(outcome) for outcome in OUTCOME_COUNTS),
        count_where(is_failed_attempt()).alias("failed"),
        F.coalesce(F.sum(F.when(F.col("ends_life"), F.col("size"))), F.lit(0)).alias("bytes"),
        seconds(F.max(F.when(F.col("ends_life"), F.col("age")))).alias("oldest_age"),
    ]


def _dead_by_reason() -> Column:
    """The deaths as a JSON object, keys sorted; what is null is not written."""
    known = F.coalesce(F.col("reason").isin(*DEATH_REASONS), F.lit(False))
    reasons = {reason: F.col("reason") == reason for reason in DEATH_REASONS} | {"unknown": ~known}
    deaths = {reason: count_where(is_outcome("dead") & condition) for reason, condition in reasons.items()}
    return F.to_json(F.struct(*(F.when(count > 0, count).alias(reason) for reason, count in deaths.items())))
