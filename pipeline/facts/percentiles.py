"""Exact percentiles, by the definition of SQL's `percentile_cont`, in whole numbers.

Of n values in order, numbered from 0, the percentile p lies at the position p (n - 1) / 100. Between two values it
is interpolated in a straight line, and rounded to the microsecond, half up. All of this is done in whole numbers,
so no order of additions can change a digit.

The values of a group are gathered into an array, sorted and picked from. Spark's own `percentile` counts them in a
table of objects instead, and works in floating point; ranks by a window sort all rows by all their keys.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.schemas import PERCENTILES

PERCENTS = {name: round(fraction * 100) for name, fraction in PERCENTILES.items()}
MICROSECONDS = 1_000_000  # in a second


def seconds(microseconds: Column) -> Column:
    return microseconds / F.lit(MICROSECONDS)


def facts_by(rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str]) -> DataFrame:
    """For each of the keys the counts (any aggregates), and for each measure m: m_p50, m_p90, m_p95, m_p99, m_max.

    Measures are columns of whole microseconds, facts are seconds. Nulls are left out; without any value the facts
    are null. Rows are brought together first, so that values are gathered once, not once on either side.
    """
    gathered = (
        rows.repartition(*keys)
        .groupBy(*keys)
        .agg(*counts, *(F.collect_list(measure).alias(measure) for measure in measures))
        .withColumns({measure: F.sort_array(measure) for measure in measures})
    )
    durations = {
        f"{measure}_{name}": seconds(value) for measure in measures for name, value in _picked(F.col(measure)).items()
    }
    return gathered.withColumns(durations).drop(*measures)


def _picked(ascending: Column) -> dict[str, Column]:
    steps = F.size(ascending).cast("bigint") - 1  # from the least value to the greatest
    percentiles = {name: _interpolated(ascending, steps, percent) for name, percent in PERCENTS.items()}
    return {**percentiles, "max": F.get(ascending, steps.cast("int"))}


def _interpolated(ascending: Column, steps: Column, percent: int) -> Column:
    """The values on either side of the position, each weighted by how near it is."""
    lower = _whole(steps * percent, 100).cast("int")
    beyond = steps * percent % 100  # hundredths of the way from the lower value to the upper
    below = F.get(ascending, lower) * (100 - beyond)
    above = F.coalesce(F.get(ascending, lower + 1), F.lit(0)) * beyond
    return _whole(below + above + 50, 100)


def _whole(dividend: Column, divisor: int) -> Column:
    """The division of whole numbers, for which columns have no operator."""
    return F.call_function("div", dividend, F.lit(divisor))
