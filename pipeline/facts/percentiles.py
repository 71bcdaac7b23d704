"""Exact percentiles, by the definition of SQL's `percentile_cont`, in whole numbers.

Of n values in order, numbered from 0, the percentile p lies at the position p (n - 1) / 100. Between two values it
is interpolated in a straight line, and rounded to the microsecond, half up. All of this is done in whole numbers,
so no order of additions can change a digit.

The values of a group are gathered into an array, sorted and picked from. Spark's own `percentile` counts them in a
table of objects instead, and works in floating point; ranks by a window sort all rows by all their keys. Where groups
may have more values than one worker should hold, theirs are looked for in ranges (ranges.py): the same facts, in
bounded memory.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.facts.ranges import ranked_values
from pipeline.schemas import PERCENTILES

PERCENTS = {name: round(fraction * 100) for name, fraction in PERCENTILES.items()}
MICROSECONDS = 1_000_000  # in a second
MOST_GATHERED = 20_000  # values of one group; a worker gathers those of up to 128 groups at a time


def seconds(microseconds: Column) -> Column:
    return microseconds / F.lit(MICROSECONDS)


def facts_by(
    rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str], *, large: bool = False
) -> DataFrame:
    """For each of the keys the counts (any aggregates), and for each measure m: m_p50, m_p90, m_p95, m_p99, m_max.

    Measures are columns of whole microseconds, facts are seconds. Nulls are left out; without any value the facts
    are null. With `large`, groups may have more values than fit into memory.
    """
    if not large:
        return _by_gathering(rows, keys, counts, measures)
    crowded = F.broadcast(_crowded(rows, keys, measures))
    few = _by_gathering(rows.join(crowded, list(keys), "left_anti"), keys, counts, measures)
    return few.unionByName(_by_ranges(rows.join(crowded, list(keys), "left_semi"), keys, counts, measures))


def _crowded(rows: DataFrame, keys: Sequence[str], measures: Sequence[str]) -> DataFrame:
    """The keys of groups with so many values that they are not gathered."""
    has_value = reduce(or_, (F.col(measure).isNotNull() for measure in measures))
    return rows.where(has_value).groupBy(*keys).count().where(F.col("count") > MOST_GATHERED).select(*keys)


def _by_ranges(rows: DataFrame, keys: Sequence[str], counts: Sequence[Column], measures: Sequence[str]) -> DataFrame:
    sizes = [
        column
        for measure in measures
        for column in (F.count(measure).alias(f"{measure}_values"), F.max(measure).alias(f"{measure}_greatest"))
    ]
    facts = rows.groupBy(*keys).agg(*counts, *sizes)
    ranked = ranked_values(rows, keys, measures, list(PERCENTS.values()))
    durations = {
        f"{measure}_{name}": seconds(
            _between(
                F.col(f"{measure}_values") - 1,
                percent,
                F.col(f"{measure}_at_{percent}"),
                F.col(f"{measure}_after_{percent}"),
            )
        )
        for measure in measures
        for name, percent in PERCENTS.items()
    }
    greatest = {f"{measure}_max": seconds(F.col(f"{measure}_greatest")) for measure in measures}
    known = [name for name in facts.columns if not name.endswith(("_values", "_greatest"))]
    joined = facts.join(ranked, list(keys), "left").withColumns(durations | greatest)
    return joined.select(*known, *durations, *greatest)


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
