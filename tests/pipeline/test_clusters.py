"""Dead letters that died of the same thing."""

from datetime import date
from typing import Any

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from pipeline.facts.clusters import dead_letter_clusters
from pipeline.facts.sorting import good_rows
from pipeline.schemas import DEAD_LETTER_CLUSTERS
from tests.pipeline.journal_rows import at, journal, row, table


def died(ended: float, error: str | None, **said: Any) -> dict[str, Any]:
    return row(**{"outcome": "dead", "reason": "failed", "ended_at": at(ended), "error": error, **said})


def test_errors_that_differ_in_particulars_are_one_cluster(spark: SparkSession) -> None:
    rows = journal(
        spark,
        died(5, "order 7 not found"),
        died(9, "order 12 not found"),
        died(7, "order 8 not found"),
        died(8, "no paper"),
        died(8, "no paper", reason="timeout"),
        died(8, "no paper", queue_id=2, queue_name="bills", queue_tags=["eu"]),
        died(86_400 + 5, "no paper"),
        died(6, None, reason="expired"),
        row(outcome="retried", reason="failed", error="no paper"),
        row(),
    )
    orders = {"day": date(2026, 11, 16), "queue_id": 1, "queue_name": "orders", "queue_tags": [], "reason": "failed"}
    paper = {"signature": "no paper", "count": 1, "first_seen": at(8), "last_seen": at(8), "example": "no paper"}
    next_day = {"day": date(2026, 11, 17), "first_seen": at(86_405), "last_seen": at(86_405)}
    bills = {"queue_id": 2, "queue_name": "bills", "queue_tags": ["eu"]}
    expired = {
        "reason": "expired",
        "signature": "",
        "count": 1,
        "first_seen": at(6),
        "last_seen": at(6),
        "example": None,
    }
    order = {"signature": "order # not found", "count": 3, "first_seen": at(5), "last_seen": at(9)}
    expected = [
        {**orders, **order, "example": "order 12 not found"},
        {**orders, **paper},
        {**orders, **paper, "reason": "timeout"},
        {**orders, **paper, **bills},
        {**orders, **paper, **next_day},
        {**orders, **expired},
    ]
    found = dead_letter_clusters(good_rows(rows))
    assertDataFrameEqual(found, table(spark, DEAD_LETTER_CLUSTERS, *expected), ignoreNullable=True)


def test_of_errors_at_the_same_moment_the_last_one_written_is_the_example(spark: SparkSession) -> None:
    rows = journal(spark, *(died(5, f"order {number}") for number in (3, 1, 2)))
    for spread in (rows, rows.repartition(3)):
        assert [found.example for found in dead_letter_clusters(good_rows(spread)).collect()] == ["order 2"]


def test_without_deaths_there_are_no_clusters(spark: SparkSession) -> None:
    assert dead_letter_clusters(good_rows(journal(spark, row()))).count() == 0
    assert dead_letter_clusters(good_rows(journal(spark))).count() == 0
