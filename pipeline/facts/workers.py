"""What clients did, and what ended through each node, per minute, hour and day."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.facts.buckets import in_buckets
from pipeline.facts.conforming import conforming
from pipeline.facts.counting import count_where, is_failed_attempt, is_outcome
from pipeline.facts.percentiles import facts_by
from pipeline.schemas import CLIENT_FACTS, NODE_FACTS


def client_facts(good_rows: DataFrame, *, large: bool = False) -> DataFrame:
    """Of attempts only: what nobody held was nobody's work. Clients without a name are one, under an empty name."""
    attempts = good_rows.where(is_outcome("finished") | is_outcome("popped") | is_failed_attempt())
    return _work_facts(attempts, "client", CLIENT_FACTS, large=large)


def node_facts(good_rows: DataFrame, *, large: bool = False) -> DataFrame:
    return _work_facts(good_rows, "node", NODE_FACTS, large=large)


def _work_facts(rows: DataFrame, who: str, schema: StructType, *, large: bool) -> DataFrame:
    needed = rows.select(F.coalesce(who, F.lit("")).alias(who), "outcome", "reason", "work", "ended_at")
    counts = [
        count_where(is_outcome("finished")).alias("finished"),
        count_where(is_failed_attempt()).alias("failed"),
    ]
    facts = facts_by(in_buckets(needed, "ended_at"), ["grain", "bucket", who], counts, ["work"], large=large)
    return conforming(facts, schema)
