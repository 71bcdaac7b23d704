"""Exact percentiles, by the definition of SQL's `percentile_cont`, in whole numbers.

Of n values in order, numbered from 0, the percentile p lies at the position p (n - 1) / 100. Between two values it
is interpolated in a straight line, and rounded to the microsecond, half up. All of this is done in whole numbers,
so no order of additions can change a digit.

The values of a group are gathered into an array, sorted and picked from. Spark's own `percentile` counts them in a
table of objects instead, and works in floating point; ranks by a window sort all rows by all their keys. Where hours
and days may have more values than one worker should hold, theirs are sorted range by range (ranges.py): the same facts,
in more time and bounded memory.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.facts.ranges import ranked_values
from pipeline.schemas import PERCENTILES

PERCENTS = {name: round(fraction * 100) for name, fraction in PERCENTILES.items()}
MICROSECONDS = 1_000_000  # in a second


def seconds(microseconds: Column) -> Column:
    return microseconds / F.lit(MICROSECONDS)


def facts_by(
    rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str], *, large: bool = False
) -> DataFrame:
    """For each of the keys the counts (any aggregates), and for each measure m: m_p50, m_p90, m_p95, m_p99, m_max.

    Measures are columns of whole microseconds, facts are seconds. Nulls are left out; without any value the facts
    are null. With `large`, there may be hours and days with more values than fit into memory; minutes never have.
    """
    if not large:
        return _by_gathering(rows, keys, counts, measures)
    is_minute = F.col("grain") == "minute"
    minutes = _by_gathering(rows.where(is_minute), keys, counts, measures)
    return minutes.unionByName(_by_ranges(rows.where(~is_minute), keys, counts, measures))


def _by_ranges(rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str]) -> DataFrame:
    facts = rows.groupBy(*keys).agg(*counts, F.count("*").alias("_"))
    for measure in measures:
        ranked = ranked_values(rows, keys, measure, list(PERCENTS.values()))
        percentiles = {
            f"{measure}_{name}": seconds(
                _between(F.col("steps"), percent, F.col(f"at_{percent}"), F.col(f"after_{percent}"))
            )
            for name, percent in PERCENTS.items()
        }
        values = ranked.select(
            *keys,
            *(value.alias(name) for name, value in percentiles.items()),
            seconds(F.col("greatest")).alias(f"{measure}_max"),
        )
        facts = facts.join(values, list(keys), "left")
    return facts.drop("_")


def _by_gathering(rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str]) -> DataFrame:
    """Rows are brought together first, so that values are gathered once, not once on either side."""
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
    lower = _whole(steps * percent, 100).cast("int")
    return _between(steps, percent, F.get(ascending, lower), F.get(ascending, lower + 1))


def _between(steps: Column, percent: int, below: Column, above: Column) -> Column:
    """The values on either side of the position, each weighted by how near it is."""
    beyond = steps * percent % 100  # hundredths of the way from the lower value to the upper
    return _whole(below * (100 - beyond) + F.coalesce(above, F.lit(0)) * beyond + 50, 100)


def _whole(dividend: Column, divisor: int) -> Column:
    """The division of whole numbers, for which columns have no operator."""
    return F.call_function("div", dividend, F.lit(divisor))
