"""What happened in a queue: counts, bytes, durations, by minute, hour and day."""

import json
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from pipeline.facts.queues import queue_facts
from pipeline.facts.sorting import good_rows
from pipeline.schemas import QUEUE_FACTS
from tests.pipeline.journal_rows import at, journal, row, table

DAY = datetime(2026, 11, 16, tzinfo=UTC)
NO_WAIT = {f"wait_{name}": None for name in ("p50", "p90", "p95", "p99", "max")}
NO_WORK = {f"work_{name}": None for name in ("p50", "p90", "p95", "p99", "max")}


def fact(**said: Any) -> dict[str, Any]:
    """Facts of a queue in which nothing happened, and what was said."""
    nothing = {
        "grain": "minute", "bucket": at(0), "queue_id": 1, "queue_name": "orders", "queue_tags": [],
        "posted": 0, "finished": 0, "popped": 0, "failed": 0, "retried": 0, "dead": 0, "dropped": 0,
        "dead_by_reason": "{}", "bytes": 0, **NO_WAIT, **NO_WORK, "oldest_age": None,
    }  # fmt: skip
    assert said.keys() <= nothing.keys(), said
    return {**nothing, **said}


def all_equal(measure: str, value: float) -> dict[str, float]:
    return {f"{measure}_{name}": value for name in ("p50", "p90", "p95", "p99", "max")}


def facts_of(spark: SparkSession, grain: str, *rows: dict[str, Any]) -> DataFrame:
    return queue_facts(good_rows(journal(spark, *rows))).where(f"grain = '{grain}'")


def expect(spark: SparkSession, found: DataFrame, *facts: dict[str, Any]) -> None:
    assertDataFrameEqual(found, table(spark, QUEUE_FACTS, *facts), ignoreNullable=True)


def test_one_message_counts_once_in_each_grain(spark: SparkSession) -> None:
    same = {
        "posted": 1, "finished": 1, "bytes": 100,
        **all_equal("wait", 1.0), **all_equal("work", 2.0), "oldest_age": 3.0,
    }  # fmt: skip
    expect(
        spark,
        queue_facts(good_rows(journal(spark, row()))),
        fact(grain="minute", bucket=at(0), **same),
        fact(grain="hour", bucket=at(0), **same),
        fact(grain="day", bucket=DAY, **same),
    )


def test_a_message_is_posted_when_it_was_posted_and_ends_when_it_ended(spark: SparkSession) -> None:
    found = facts_of(spark, "minute", row(assigned_at=at(61), ended_at=at(120)))
    expect(
        spark,
        found,
        fact(bucket=at(0), posted=1),
        fact(
            bucket=at(120), finished=1, bytes=100,
            **all_equal("wait", 61.0), **all_equal("work", 59.0), oldest_age=120.0,
        ),
    )  # fmt: skip


def test_a_message_that_was_retried_is_posted_once(spark: SparkSession) -> None:
    """Its waiting time is that before the last attempt; its failed attempt is no work that was done."""
    found = facts_of(
        spark,
        "hour",
        row(outcome="retried", reason="failed", assigned_at=at(1), ended_at=at(2)),
        row(outcome="retried", reason="timeout", attempt=2, assigned_at=at(3), ended_at=at(13)),
        row(attempt=3, assigned_at=at(20), ended_at=at(24)),
    )
    ended = {**all_equal("wait", 20.0), **all_equal("work", 4.0), "oldest_age": 24.0}
    expect(spark, found, fact(grain="hour", posted=1, finished=1, failed=2, retried=2, bytes=100, **ended))


WAYS_TO_END: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"outcome": "popped", "ended_at": at(1)}, {"popped": 1, **all_equal("wait", 1.0), "oldest_age": 1.0}),
    (
        {"outcome": "dead", "reason": "failed"},
        {"dead": 1, "failed": 1, "dead_by_reason": '{"failed":1}', **all_equal("wait", 1.0), "oldest_age": 3.0},
    ),
    (
        {"outcome": "dead", "reason": "expired", "attempt": 0, "assigned_at": None},
        {"dead": 1, "dead_by_reason": '{"expired":1}', "oldest_age": 3.0},
    ),
    (
        {"outcome": "dropped", "reason": "overflow", "attempt": 0, "assigned_at": None},
        {"dropped": 1, "oldest_age": 3.0},
    ),
]


def test_each_way_to_end(spark: SparkSession) -> None:
    rows = [row(queue_id=number, **ending) for number, (ending, _) in enumerate(WAYS_TO_END)]
    counted = [fact(queue_id=number, posted=1, bytes=100, **counted) for number, (_, counted) in enumerate(WAYS_TO_END)]
    expect(spark, facts_of(spark, "minute", *rows), *counted)


def test_a_message_that_has_not_ended_is_not_posted_yet(spark: SparkSession) -> None:
    found = facts_of(spark, "minute", row(outcome="retried", reason="disconnected"))
    expect(spark, found, fact(failed=1, retried=1))


def test_deaths_are_told_by_reason_with_sorted_keys(spark: SparkSession) -> None:
    reasons = ["timeout", "failed", "failed", "expired", None]
    (found,) = facts_of(spark, "day", *(row(outcome="dead", reason=reason) for reason in reasons)).collect()
    assert found.dead_by_reason == '{"expired":1,"failed":2,"timeout":1,"unknown":1}'
    assert list(json.loads(found.dead_by_reason)) == ["expired", "failed", "timeout", "unknown"]


def test_queues_with_other_tags_are_other_queues(spark: SparkSession) -> None:
    found = facts_of(
        spark, "day", row(), row(queue_id=2, queue_tags=["a", "b"]), row(queue_id=2, queue_tags=["a", "b"])
    )
    counts = {(each.queue_name, tuple(each.queue_tags)): each.finished for each in found.collect()}
    assert counts == {("orders", ()): 1, ("orders", ("a", "b")): 2}


def test_days_are_those_of_utc_whatever_the_sessions_time_zone(spark: SparkSession) -> None:
    rows = journal(spark, row(posted_at=DAY, assigned_at=DAY, ended_at=DAY))
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    try:
        buckets = queue_facts(good_rows(rows)).selectExpr("unix_micros(bucket)").distinct().collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert [bucket for (bucket,) in buckets] == [int(DAY.timestamp()) * 1_000_000]


def test_an_empty_slice_gives_empty_facts(spark: SparkSession) -> None:
    expect(spark, queue_facts(good_rows(journal(spark))))


def test_facts_do_not_depend_on_how_rows_are_spread(spark: SparkSession) -> None:
    rows = [
        row(queue_id=number % 3, index=number, ended_at=at(3 + (number * 7919 % 1000) / 1000), size=number)
        for number in range(200)
    ]
    together = queue_facts(good_rows(journal(spark, *rows).coalesce(1)))
    spread = queue_facts(good_rows(journal(spark, *reversed(rows)).repartition(7)))
    assert sorted(map(repr, together.collect())) == sorted(map(repr, spread.collect()))
