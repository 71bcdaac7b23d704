"""Exact percentiles of groups that are too large for one worker's memory, by way of ranges of values.

Values fall into ranges, 64 to an octave: as wide as a 64th of their values, so that short durations are cut finely and
long ones coarsely. How many values each range has says in which ranges the percentiles lie, and how far in. Only the
values of those few are then sorted. All of this is counting and sorting, for which Spark can use the disk: no worker
ever holds the values of a group, nor those of a range.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

RANGE_BITS = 6  # 64 ranges to an octave

PER_CENT = 100


def ranked_values(rows: DataFrame, keys: Sequence[str], measures: Sequence[str], percents: Sequence[int]) -> DataFrame:
    """For each of the keys, and each measure m and percent p: the values on either side of its position, `m_at_p` and
    `m_after_p` (null: there is none)."""
    by = [*keys, "measure"]
    values = _one_below_the_other(rows, keys, measures).withColumn("range", range_of(F.col("value")))
    ranges = values.groupBy(*by, "range").agg(F.count("*").alias("many"))
    wanted = F.broadcast(_wanted(ranges, by, percents))
    counted = (
        values.join(wanted, [*by, "range"])
        .groupBy(*by, "range", "steps", "earlier", "value")
        .agg(F.count("*").alias("times"))
    )
    before = Window.partitionBy(*by, "range").orderBy("value").rowsBetween(Window.unboundedPreceding, -1)
    placed = counted.withColumn("first", F.col("earlier") + F.coalesce(F.sum("times").over(before), F.lit(0)))
    return placed.groupBy(*keys).agg(*_picks(measures, percents))


def _one_below_the_other(rows: DataFrame, keys: Sequence[str], measures: Sequence[str]) -> DataFrame:
    """A row for each value: `measure` says which it is."""
    each = (F.struct(F.lit(name).alias("measure"), F.col(name).alias("value")) for name in measures)
    return rows.select(*keys, F.inline(F.array(*each))).where(F.col("value").isNotNull())


def range_of(value: Column) -> Column:
    """Numbers that grow with the values: the highest bits, behind how many lower ones there are.

    A logarithm that is off by its last digit at a power of two gives the same number.
    """
    lower = F.greatest(F.floor(F.log2(value)).cast("int") - RANGE_BITS, F.lit(0))
    return lower * (1 << RANGE_BITS) + F.call_function("shiftright", value, lower)


def _wanted(ranges: DataFrame, by: Sequence[str], percents: Sequence[int]) -> DataFrame:
    """The ranges that something is picked from, with how many values come `earlier`, of all `steps` + 1."""
    ascending = Window.partitionBy(*by).orderBy("range").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    placed = ranges.select(
        *by,
        "range",
        "many",
        (F.sum("many").over(ascending) - F.col("many")).alias("earlier"),
        (F.sum("many").over(Window.partitionBy(*by)) - 1).alias("steps"),
    )
    is_wanted = F.lit(False)
    for percent in percents:
        for position in (_position(percent), _position(percent) + 1):
            is_wanted |= _lies_in(position, F.col("earlier"), F.col("many"))
    return placed.where(is_wanted).drop("many")


def _picks(measures: Sequence[str], percents: Sequence[int]) -> Iterator[Column]:
    for measure in measures:
        of_measure = F.col("measure") == measure
        for percent in percents:
            for name, position in (("at", _position(percent)), ("after", _position(percent) + 1)):
                here = of_measure & _lies_in(position, F.col("first"), F.col("times"))
                yield F.max(F.when(here, F.col("value"))).alias(f"{measure}_{name}_{percent}")


def _position(percent: int) -> Column:
    return F.call_function("div", F.col("steps") * percent, F.lit(PER_CENT))


def _lies_in(position: Column, first: Column, many: Column) -> Column:
    return (position >= first) & (position < first + many)
