"""Requests to services and how long their answers took. A service's queue is its name behind a prefix."""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.facts.buckets import in_buckets
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import count_where, is_outcome
from pipeline.facts.percentiles import facts_by
from pipeline.facts.queue_names import DEAD_SUFFIX, SERVICE_PREFIX
from pipeline.facts.scope import EVERYTHING, Scope, in_scope
from pipeline.schemas import SERVICE_FACTS

KEYS = ["grain", "bucket", "service"]


def service_facts(good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame:
    """The latency is from the request to its answer, over all attempts."""
    counts = [
        F.count("*").alias("requests"),
        count_where(is_outcome("finished")).alias("answered"),
        count_where(~is_outcome("finished")).alias("failed"),
    ]
    requests = in_scope(partial(_requests, grains=scope.grains), good_rows, KEYS, scope)
    return conforming(facts_by(requests, KEYS, counts, ["latency"], large=scope.large), SERVICE_FACTS)


def _requests(good_rows: DataFrame, grains: Sequence[str]) -> DataFrame:
    requests = (
        good_rows.where("ends_life")
        .where(F.startswith("queue_name", F.lit(SERVICE_PREFIX)) & ~F.endswith("queue_name", F.lit(DEAD_SUFFIX)))
        .select(
            F.substring("queue_name", F.lit(len(SERVICE_PREFIX) + 1), F.length("queue_name")).alias("service"),
            F.when(is_outcome("finished"), F.col("age")).alias("latency"),
            "outcome",
            "ended_at",
        )
    )
    return in_buckets(requests, "ended_at", grains)
