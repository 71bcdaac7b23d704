"""Exact percentiles, by the definition of SQL's `percentile_cont`, in whole numbers.

Of n values in order, numbered from 0, the percentile p lies at the position p (n - 1) / 100. Between two values it
is interpolated in a straight line, and rounded to the microsecond, half up. All of this is done in whole numbers,
so no order of additions can change a digit. Ranks come from sorting, which Spark does on disk if it must: memory
does not grow with the number of values, as it does with Spark's own `percentile`.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipeline.schemas import PERCENTILES

PERCENTS = {name: round(fraction * 100) for name, fraction in PERCENTILES.items()}
MICROSECONDS = 1_000_000  # in a second


def seconds(microseconds: Column) -> Column:
    return microseconds / F.lit(MICROSECONDS)


def duration_facts(rows: DataFrame, keys: Sequence[str], measures: Sequence[str]) -> DataFrame:
    """For each of the keys and each measure m: m_p50, m_p90, m_p95, m_p99, m_max, in seconds.

    Measures are columns of whole microseconds; nulls are left out, and keys that have nothing else do not come back.
    """
    named = F.array(*(F.struct(F.lit(place).alias("m"), F.col(name).alias("v")) for place, name in enumerate(measures)))
    values = rows.select(*keys, F.inline(named).alias("measure", "value")).where(F.col("value").isNotNull())
    each_measure = _percentiles(values, [*keys, "measure"])
    wide = [
        F.max(F.when(F.col("measure") == place, F.col(name))).alias(f"{measure}_{name}")
        for place, measure in enumerate(measures)
        for name in (*PERCENTS, "max")
    ]
    return each_measure.groupBy(*keys).agg(*wide)


def _percentiles(values: DataFrame, keys: Sequence[str]) -> DataFrame:
    alike = Window.partitionBy(*keys)
    ranked = values.withColumns(
        {
            "rank": F.row_number().over(alike.orderBy("value")) - 1,
            "steps": F.count("*").over(alike) - 1,  # from the least value to the greatest
        }
    )
    return ranked.groupBy(*keys).agg(
        *(seconds(_interpolated(percent)).alias(name) for name, percent in PERCENTS.items()),
        seconds(F.max("value")).alias("max"),
    )


def _interpolated(percent: int) -> Column:
    """An aggregate: the values at the two ranks beside the position, each weighted by how near it is."""
    lower = _whole(F.lit(percent) * F.col("steps"), 100)
    beyond = F.lit(percent) * F.col("steps") % 100  # hundredths of the way from the lower rank to the upper
    below = F.max(F.when(F.col("rank") == lower, F.col("value") * (100 - beyond)))
    above = F.max(F.when(F.col("rank") == lower + 1, F.col("value") * beyond))
    hundredfold = below + F.coalesce(above, F.lit(0))
    return _whole(hundredfold + 50, 100)


def _whole(dividend: Column, divisor: int) -> Column:
    """The division of whole numbers, for which columns have no operator."""
    return F.call_function("div", dividend, F.lit(divisor))
