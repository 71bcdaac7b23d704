"""Exact percentiles of groups that are too large for one worker's memory: values are sorted range by range.

Values that are equal are counted first. Then each group is cut into ranges, 64 to an octave: as wide as a 64th of their
values, so that short durations are cut finely and long ones coarsely. How many values each range has says which ranges
the percentiles lie in and how far in. Only within a range are values gathered. What a worker holds at once is thus the
different values of one range, and what comes before is sorted and counted by Spark, which can put it on the disk.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

RANGE_BITS = 6  # 64 ranges to an octave

PER_CENT = 100


def ranked_values(rows: DataFrame, keys: Sequence[str], measure: str, percents: Sequence[int]) -> DataFrame:
    """For each of the keys: `steps`, one less than there are values; and for each percent p the values on either side
    of its position, `at_p` and `after_p` (null: there is none); and `greatest`."""
    counted = (
        rows.where(F.col(measure).isNotNull())
        .groupBy(*keys, F.col(measure).alias("value"))
        .agg(F.count("*").alias("times"))
    )
    ranged = counted.withColumn("range", _range_of(F.col("value")))
    places = _places(ranged.groupBy(*keys, "range").agg(F.sum("times").alias("many")), keys)
    gathered = ranged.groupBy(*keys, "range").agg(
        F.sort_array(F.collect_list(F.struct("value", "times"))).alias("values")
    )
    in_range = gathered.join(places, [*keys, "range"])
    picks = {f"at_{percent}": _at(_position(percent)) for percent in percents}
    picks |= {f"after_{percent}": _at(_position(percent) + 1) for percent in percents}
    return (
        in_range.withColumns(picks)
        .groupBy(*keys)
        .agg(
            F.max("steps").alias("steps"),
            *(F.max(name).alias(name) for name in picks),
            F.max(F.element_at("values", -1)["value"]).alias("greatest"),
        )
    )


def _range_of(value: Column) -> Column:
    """Numbers that grow with the values: the highest bits, behind how many lower ones there are."""
    bits = F.length(F.bin(value))
    lower = F.greatest(bits - (RANGE_BITS + 1), F.lit(0))
    return lower * (1 << RANGE_BITS) + F.call_function("shiftright", value, lower)


def _places(ranges: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each range with how many values come `earlier`, of all `steps` + 1; only ranges that something is picked from
    need more than that, but the others are few and small here."""
    ascending = Window.partitionBy(*keys).orderBy("range").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return ranges.select(
        *keys,
        "range",
        "many",
        (F.sum("many").over(ascending) - F.col("many")).alias("earlier"),
        (F.sum("many").over(Window.partitionBy(*keys)) - 1).alias("steps"),
    )


def _position(percent: int) -> Column:
    return F.call_function("div", F.col("steps") * percent, F.lit(PER_CENT))


def _at(position: Column) -> Column:
    """The value at a position of the whole, if it is in this range."""
    inside = (position >= F.col("earlier")) & (position < F.col("earlier") + F.col("many"))
    start = F.struct((position - F.col("earlier")).alias("left"), F.lit(None).cast("bigint").alias("found"))
    picked = F.aggregate(
        "values",
        start,
        lambda seen, each: F.struct(
            (seen["left"] - each["times"]).alias("left"),
            F.when(seen["found"].isNull() & (seen["left"] < each["times"]), each["value"])
            .otherwise(seen["found"])
            .alias("found"),
        ),
        lambda seen: seen["found"],
    )
    return F.when(inside, picked)
