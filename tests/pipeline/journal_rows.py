"""Rows of the journal for tests: one says what matters, the rest is ordinary."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pipeline.schemas import JOURNAL

START = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after the START of all tests."""
    return START + timedelta(seconds=seconds)


def row(**said: Any) -> dict[str, Any]:
    """A message that was finished: posted at 0 s, assigned at 1 s, ended at 3 s."""
    ordinary = {
        "id": 1, "tx": 1, "queue_id": 1, "queue_name": "orders", "queue_tags": [], "index": 1,
        "outcome": "finished", "reason": None, "attempt": 1, "priority": 0, "poster": 1, "holder": 2,
        "client": "worker", "node": "node-1",
        "posted_at": at(0), "assigned_at": at(1), "ended_at": at(3),
        "size": 100, "error": None, "body": None, "extras": None,
    }  # fmt: skip
    assert said.keys() <= ordinary.keys(), said
    return {**ordinary, **said}


def journal(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Rows without an id are numbered in their order."""
    return table(spark, JOURNAL, *_numbered(rows))


def table(spark: SparkSession, schema: StructType, *rows: dict[str, Any]) -> DataFrame:
    """By way of Arrow, which needs no Python process beside Spark's."""
    columns = pa.Table.from_pylist(list(rows), to_arrow_schema(schema, timezone="UTC"))
    return spark.createDataFrame(columns, schema)


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for number, each in enumerate(rows, start=1):
        yield {**each, "id": number} if each["id"] == 1 else each
