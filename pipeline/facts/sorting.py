"""The journal's rows, good and bad: what cannot be understood is set aside and counted, clocks are put right."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.schemas import ENDS_OF_LIFE, OUTCOMES

# PostgreSQL's now() is when a transaction began, so a claim that overlaps with the post may seem a little earlier.
# More than this is a clock that was put back.
OVERLAP_MICROSECONDS = 1_000_000


def _microseconds(since: str, until: str) -> Column:
    return F.unix_micros(until) - F.unix_micros(since)


def _duration(since: str, until: str) -> Column:
    """Whole microseconds, never below zero; null if one of the times is."""
    gap = _microseconds(since, until)
    return F.when(gap < 0, F.lit(0)).otherwise(gap)


def _goes_back(since: str, until: str) -> Column:
    return F.coalesce(_microseconds(since, until) < -OVERLAP_MICROSECONDS, F.lit(False))


def good_rows(rows: DataFrame) -> DataFrame:
    """The rows whose outcome is known, without bodies, with durations in microseconds:

    `age` from post to end, `wait` from post to the last assignment if the row ends a life, `work` from assignment
    to finish. `ends_life` tells the end of a message from a failed attempt that was followed by another.
    """
    ends_life = F.col("outcome").isin(*ENDS_OF_LIFE)
    return (
        rows.where(F.col("outcome").isin(*OUTCOMES))
        .drop("body")
        .withColumns(
            {
                "ends_life": ends_life,
                "age": _duration("posted_at", "ended_at"),
                "wait": F.when(ends_life, _duration("posted_at", "assigned_at")),
                "work": F.when(F.col("outcome") == "finished", _duration("assigned_at", "ended_at")),
            }
        )
    )


def bad_rows(rows: DataFrame) -> DataFrame:
    """How many rows had which fault, and the first and last of them: `fault`, `count`, `first_id`, `last_id`.

    Rows of an unknown outcome are in no fact. Rows with a clock that went back are, with a duration of zero.
    """
    faults = F.array_compact(
        F.array(
            F.when(~F.col("outcome").isin(*OUTCOMES), F.lit("unknown outcome")),
            F.when(_goes_back("posted_at", "assigned_at"), F.lit("assigned before posted")),
            F.when(_goes_back("assigned_at", "ended_at"), F.lit("ended before assigned")),
            F.when(_goes_back("posted_at", "ended_at"), F.lit("ended before posted")),
        )
    )
    return (
        rows.select("id", F.explode(faults).alias("fault"))
        .groupBy("fault")
        .agg(F.count("*").alias("count"), F.min("id").alias("first_id"), F.max("id").alias("last_id"))
    )
