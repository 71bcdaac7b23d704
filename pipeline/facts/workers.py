"""What clients did, and what ended through each node, per minute, hour and day."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.facts.buckets import in_buckets
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import count_where, is_failed_attempt, is_outcome
from pipeline.facts.percentiles import facts_by
from pipeline.facts.scope import EVERYTHING, Scope, in_scope
from pipeline.schemas import CLIENT_FACTS, NODE_FACTS


def client_facts(good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame:
    """Of attempts only: what nobody held was nobody's work. Clients without a name are one, under an empty name."""
    return _work_facts(good_rows, "client", CLIENT_FACTS, _attempts, scope)


def node_facts(good_rows: DataFrame, scope: Scope = EVERYTHING) -> DataFrame:
    return _work_facts(good_rows, "node", NODE_FACTS, _all, scope)


def _attempts(rows: DataFrame) -> DataFrame:
    return rows.where(is_outcome("finished") | is_outcome("popped") | is_failed_attempt())


def _all(rows: DataFrame) -> DataFrame:
    return rows


def _work_facts(
    good_rows: DataFrame, who: str, schema: StructType, counted: Callable[[DataFrame], DataFrame], scope: Scope
) -> DataFrame:
    def happened(rows: DataFrame) -> DataFrame:
        needed = counted(rows).select(F.coalesce(who, F.lit("")).alias(who), "outcome", "reason", "work", "ended_at")
        return in_buckets(needed, "ended_at", scope.grains)

    keys = ["grain", "bucket", who]
    counts = [
        count_where(is_outcome("finished")).alias("finished"),
        count_where(is_failed_attempt()).alias("failed"),
    ]
    facts = facts_by(in_scope(happened, good_rows, keys, scope), keys, counts, ["work"], large=scope.large)
    return conforming(facts, schema)
