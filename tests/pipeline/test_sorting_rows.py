"""Rows that cannot be right: set aside or put right, and counted."""

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from pipeline.facts.queues import queue_facts
from pipeline.facts.sorting import bad_rows, good_rows
from tests.pipeline.journal_rows import at, journal, row

COUNTED = "fault string, count bigint, first_id bigint, last_id bigint"


def test_rows_of_an_unknown_outcome_are_set_aside_and_counted(spark: SparkSession) -> None:
    rows = journal(spark, row(), row(outcome="vanished"), row(outcome="vanished"))
    assert [each.id for each in good_rows(rows).collect()] == [1]
    assertDataFrameEqual(bad_rows(rows), spark.createDataFrame([("unknown outcome", 2, 2, 3)], COUNTED))


def test_a_clock_that_goes_back_is_counted_and_gives_durations_of_zero(spark: SparkSession) -> None:
    rows = journal(
        spark,
        row(assigned_at=at(-5)),
        row(assigned_at=at(10), ended_at=at(3)),
        row(posted_at=at(20), assigned_at=at(20), ended_at=at(3)),
    )
    expected = [
        ("assigned before posted", 1, 1, 1),
        ("ended before assigned", 2, 2, 3),
        ("ended before posted", 1, 3, 3),
    ]
    assertDataFrameEqual(bad_rows(rows), spark.createDataFrame(expected, COUNTED))
    durations = good_rows(rows).orderBy("id").select("wait", "work", "age").collect()
    assert [tuple(each) for each in durations] == [(0, 8_000_000, 3_000_000), (10_000_000, 0, 3_000_000), (0, 0, 0)]
    (day,) = queue_facts(good_rows(rows)).where("grain = 'day'").collect()
    assert (day.posted, day.finished, day.work_max, day.wait_max) == (3, 3, 8.0, 10.0)


def test_a_claim_that_overlaps_with_its_post_is_no_fault(spark: SparkSession) -> None:
    """Both times are the begin of a transaction, and the claim's may have begun before the post's."""
    rows = journal(spark, row(assigned_at=at(-0.5)))
    assert bad_rows(rows).count() == 0
    assert [each.wait for each in good_rows(rows).collect()] == [0]


def test_good_rows_have_no_bodies(spark: SparkSession) -> None:
    assert "body" not in good_rows(journal(spark, row(body=b"secret"))).columns


def test_an_empty_slice_has_neither(spark: SparkSession) -> None:
    assert good_rows(journal(spark)).count() == bad_rows(journal(spark)).count() == 0
