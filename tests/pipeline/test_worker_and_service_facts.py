"""Facts of clients, nodes and services."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from pipeline.facts import queue_names
from pipeline.facts.services import service_facts
from pipeline.facts.sorting import good_rows
from pipeline.facts.workers import client_facts, node_facts
from pipeline.schemas import CLIENT_FACTS, NODE_FACTS, SERVICE_FACTS
from queues.definitions import DEAD_SUFFIX, SERVICE_PREFIX
from tests.pipeline.journal_rows import at, journal, row, table

HOUR = {"grain": "hour", "bucket": at(0)}


def durations(measure: str, value: float | None) -> dict[str, Any]:
    return {f"{measure}_{name}": value for name in ("p50", "p90", "p95", "p99", "max")}


def hours(facts: DataFrame) -> DataFrame:
    return facts.where("grain = 'hour'")


def attempts(spark: SparkSession) -> DataFrame:
    return good_rows(
        journal(
            spark,
            row(),
            row(client="other", node="node-2", ended_at=at(5)),
            row(outcome="retried", reason="failed"),
            row(outcome="dead", reason="timeout", node="reaper"),
            row(client=None),
            row(client=None, outcome="popped"),
            row(outcome="dead", reason="expired", client=None, node="reaper"),
            row(outcome="dropped", reason="overflow", client=None, node="node-2"),
        )
    )


def test_clients_are_credited_with_what_they_did(spark: SparkSession) -> None:
    expected = [
        {**HOUR, "client": "worker", "finished": 1, "failed": 2, **durations("work", 2.0)},
        {**HOUR, "client": "other", "finished": 1, "failed": 0, **durations("work", 4.0)},
        {**HOUR, "client": "", "finished": 1, "failed": 0, **durations("work", 2.0)},
    ]
    found = hours(client_facts(attempts(spark)))
    assertDataFrameEqual(found, table(spark, CLIENT_FACTS, *expected), ignoreNullable=True)


def test_nodes_are_credited_with_what_ended_through_them(spark: SparkSession) -> None:
    expected = [
        {**HOUR, "node": "node-1", "finished": 2, "failed": 1, **durations("work", 2.0)},
        {**HOUR, "node": "node-2", "finished": 1, "failed": 0, **durations("work", 4.0)},
        {**HOUR, "node": "reaper", "finished": 0, "failed": 1, **durations("work", None)},
    ]
    found = hours(node_facts(attempts(spark)))
    assertDataFrameEqual(found, table(spark, NODE_FACTS, *expected), ignoreNullable=True)


def test_services_answer_over_all_attempts(spark: SparkSession) -> None:
    rows = journal(
        spark,
        row(queue_name="service:resize", ended_at=at(3)),
        row(queue_name="service:resize", outcome="retried", reason="timeout"),
        row(queue_name="service:resize", outcome="dead", reason="timeout"),
        row(queue_name="service:resize.dead", outcome="popped"),
        row(queue_name="resize"),
    )
    expected = {**HOUR, "service": "resize", "requests": 2, "answered": 1, "failed": 1, **durations("latency", 3.0)}
    found = hours(service_facts(good_rows(rows)))
    assertDataFrameEqual(found, table(spark, SERVICE_FACTS, expected), ignoreNullable=True)


def test_the_prefix_of_services_is_the_brokers() -> None:
    assert queue_names.SERVICE_PREFIX == SERVICE_PREFIX
    assert queue_names.DEAD_SUFFIX == DEAD_SUFFIX


def test_an_empty_slice_gives_empty_facts(spark: SparkSession) -> None:
    rows = good_rows(journal(spark))
    assert client_facts(rows).count() == node_facts(rows).count() == service_facts(rows).count() == 0
