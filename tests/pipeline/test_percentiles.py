"""Percentiles against a plain Python oracle, and against what PostgreSQL says."""

import os
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.facts import percentiles, ranges
from pipeline.facts.percentiles import PERCENTS, facts_by
from tests.support.databases import query

# A year in microseconds; small values often, for there ranks and rounding go wrong.
MICROSECONDS = st.one_of(st.integers(0, 9), st.integers(0, 31_536_000_000_000))
GROUPS = st.lists(st.lists(MICROSECONDS, min_size=1, max_size=40), min_size=1, max_size=12)
A_FEW = settings(max_examples=8, deadline=None, derandomize=True)


def oracle(values: list[int], percent: int) -> float:
    """percentile_cont by the book, in fractions, rounded to the microsecond, half up."""
    ordered = sorted(values)
    position = Fraction(percent * (len(ordered) - 1), 100)
    lower = floor(position)
    upper = min(lower + 1, len(ordered) - 1)
    exact = ordered[lower] + (position - lower) * (ordered[upper] - ordered[lower])
    return floor(exact + Fraction(1, 2)) / 1_000_000


@A_FEW
@given(groups=GROUPS)
def test_percentiles_by_ranges_are_the_same_as_at_once(spark: SparkSession, groups: list[list[int]]) -> None:
    rows = [
        (number, value, None if number % 2 else place)
        for number, values in enumerate(groups)
        for place, value in enumerate([*values, None])
    ]
    frame = spark.createDataFrame(rows, "key int, wait bigint, work bigint")
    counts = [F.count("*").alias("rows")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(percentiles, "MOST_GATHERED", 5)  # so that some groups are crowded, and others are not
        by_range = facts_by(frame, ["key"], counts, ["wait", "work"], large=True)
        found = sorted(map(str, by_range.collect()))
    at_once = facts_by(frame, ["key"], counts, ["wait", "work"])
    assert by_range.columns == at_once.columns
    assert found == sorted(map(str, at_once.collect()))


def test_values_at_powers_of_two_fall_into_ranges_that_grow(spark: SparkSession) -> None:
    """Where logarithms are off by their last digit."""
    values = sorted({0, *(2**bits + beyond for bits in range(54) for beyond in (-1, 0, 1) if 2**bits + beyond >= 0)})
    frame = spark.createDataFrame([(value,) for value in values], "value bigint")
    found = [row["range"] for row in frame.select(ranges.range_of(F.col("value")).alias("range")).collect()]
    assert found == sorted(found)
    assert found[:3] == [0, 1, 2]


@A_FEW
@given(groups=GROUPS)
def test_percentiles_are_those_of_the_oracle(spark: SparkSession, groups: list[list[int]]) -> None:
    rows = [(number, value) for number, values in enumerate(groups) for value in values]
    found = facts_by(spark.createDataFrame(rows, "key int, wait bigint"), ["key"], [], ["wait"]).collect()
    assert len(found) == len(groups)
    for fact in found:
        values = groups[fact.key]
        expected = [oracle(values, percent) for percent in PERCENTS.values()]
        assert [fact[f"wait_{name}"] for name in PERCENTS] == expected, values
        assert fact.wait_max == max(values) / 1_000_000


def test_percentiles_are_those_of_sql(spark: SparkSession) -> None:
    values = [(number * 7919) % 100_003 for number in range(997)]
    rows = spark.createDataFrame([(1, value) for value in values], "key int, wait bigint")
    (found,) = facts_by(rows, ["key"], [], ["wait"]).collect()
    ((in_sql,),) = query(
        os.environ["DATABASE_URL"],
        "SELECT percentile_cont(array[0.5, 0.9, 0.95, 0.99]) WITHIN GROUP (ORDER BY v) FROM unnest(%s::bigint[]) v",
        values,
    )
    assert [round(found[f"wait_{name}"] * 1_000_000) for name in PERCENTS] == [floor(value + 0.5) for value in in_sql]


def test_missing_values_are_left_out_and_measures_kept_apart(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 10, 500), (1, None, 700), (2, None, 7)], "key int, wait bigint, work bigint")
    columns = ("key", "wait_p50", "wait_max", "work_p50", "work_max")
    found = facts_by(rows, ["key"], [], ["wait", "work"]).select(*columns).orderBy("key").collect()
    assert [tuple(fact) for fact in found] == [
        (1, 0.00001, 0.00001, 0.0006, 0.0007),
        (2, None, None, 0.000007, 0.000007),
    ]


def test_durations_of_centuries_do_not_overflow(spark: SparkSession) -> None:
    centuries = 10**16  # microseconds
    rows = spark.range(3).select(F.lit(1).alias("key"), (F.lit(centuries) + F.col("id") * 7).alias("wait"))
    (found,) = facts_by(rows, ["key"], [], ["wait"]).collect()
    assert found.wait_p50 == (centuries + 7) / 1_000_000
