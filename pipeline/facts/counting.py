"""Counting rows by what became of them: the columns that several facts share."""

from pyspark.sql import Column
from pyspark.sql import functions as F

# A dead message's last attempt failed, if one of these is why it died. Otherwise it died waiting.
FAILED_ATTEMPT = ("failed", "timeout", "disconnected")


def count_where(condition: Column) -> Column:
    """An aggregate; what is neither true nor false is not counted."""
    return F.count(F.when(condition, F.lit(1)))


def is_outcome(outcome: str) -> Column:
    return F.col("outcome") == outcome


def is_failed_attempt() -> Column:
    """Whether another attempt followed or not."""
    return is_outcome("retried") | (is_outcome("dead") & F.col("reason").isin(*FAILED_ATTEMPT))
