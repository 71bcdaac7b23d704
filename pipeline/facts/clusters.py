"""Dead letters of one day whose errors are alike: how many, since when, until when, and one of them to look at."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.facts.buckets import day_of
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import is_outcome
from pipeline.facts.scope import EVERYTHING, Scope, in_scope
from pipeline.facts.signatures import signature
from pipeline.schemas import DEAD_LETTER_CLUSTERS

KEYS = ["day", "queue_id", "reason", "signature"]


def dead_letter_clusters(good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame:
    """The example is the error of the last message that died so: the one that is easiest to look up."""
    clusters = (
        in_scope(_dead, good_rows, KEYS, scope)
        .groupBy(*KEYS)
        .agg(
            F.max("queue_name").alias("queue_name"),
            F.max("queue_tags").alias("queue_tags"),
            F.count("*").alias("count"),
            F.min("ended_at").alias("first_seen"),
            F.max("ended_at").alias("last_seen"),
            F.max_by("error", F.struct("ended_at", "id")).alias("example"),
        )
    )
    return conforming(clusters, DEAD_LETTER_CLUSTERS)


def _dead(good_rows: DataFrame) -> DataFrame:
    return good_rows.where(is_outcome("dead")).withColumns(
        {
            "day": day_of("ended_at"),
            "reason": F.coalesce("reason", F.lit("unknown")),
            "signature": signature(F.col("error")),
        }
    )
