"""The messages that a replay is about: which they are, how many can be posted, and their bodies in order."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.table import TableFile

OF_THE_BROKER = "willow-"  # how the names of headers begin that nobody else may post


@dataclass(frozen=True)
class Wanted:
    """Messages of a queue that ended from `since` on and before `until`. Without tags: whatever theirs are."""

    queue: str
    tags: tuple[str, ...] | None
    since: datetime
    until: datetime
    outcomes: tuple[str, ...]

    def words(self) -> dict[str, Any]:
        return {name: str(value) if isinstance(value, datetime) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Archived:
    """A message to post. Queue number and index are its name for ever."""

    queue_id: int
    index: int
    tags: tuple[str, ...]
    priority: int
    body: bytes
    headers: dict[str, str]
    group: str | None
    key: str | None
    unique: str | None


@dataclass(frozen=True)
class Found:
    messages: int
    with_body: int
    bytes: int
    first: datetime | None
    last: datetime | None


def select(spark: SparkSession, connection: Connection, archive: str, wanted: Wanted) -> DataFrame:
    """Each message once: by the row that ended its life."""
    archived = open_journal(connection, archive).files()
    first, last = wanted.since.astimezone(UTC).date(), wanted.until.astimezone(UTC).date()
    chosen = [file for file in archived if first <= file.day <= last]
    if not chosen:
        raise PipelineError(
            f"The archive has nothing of that time: {_days(archived)}", "Run `./willow pipeline run` to archive more."
        )
    rows = read_archived(spark, present(Files(spark, archive), chosen)).where(
        (F.col("queue_name") == wanted.queue)
        & (F.col("ended_at") >= F.lit(wanted.since))
        & (F.col("ended_at") < F.lit(wanted.until))
        & F.col("outcome").isin(*wanted.outcomes)
    )
    if wanted.tags is None:
        return rows
    return rows.where(F.col("queue_tags") == F.array(*map(F.lit, wanted.tags)).cast("array<string>"))


def _days(archived: list[TableFile]) -> str:
    days = sorted(file.day for file in archived)
    return f"its days are {days[0]} to {days[-1]}." if days else "it is empty."


def look(messages: DataFrame) -> Found:
    has_body = F.col("body").isNotNull()
    row = messages.agg(
        F.count("*").alias("messages"),
        F.count(F.when(has_body, 1)).alias("with_body"),
        F.coalesce(F.sum(F.when(has_body, F.col("size"))), F.lit(0)).alias("bytes"),
        F.date_format(F.min("ended_at"), "yyyy-MM-dd'T'HH:mm:ssXXX").alias("first"),
        F.date_format(F.max("ended_at"), "yyyy-MM-dd'T'HH:mm:ssXXX").alias("last"),
    ).first()
    assert row is not None
    first, last = (datetime.fromisoformat(row[name]) if row[name] else None for name in ("first", "last"))
    return Found(row["messages"], row["with_body"], row["bytes"], first, last)


def in_order(messages: DataFrame) -> Iterator[Archived]:
    """Those with a body, by queue and index, which is the order in which they were posted; read piece by piece."""
    ordered = (
        messages.where(F.col("body").isNotNull())
        .select("queue_id", "index", "queue_tags", "priority", "body", "extras")
        .orderBy("queue_id", "index")
    )
    for row in ordered.toLocalIterator():
        yield _archived(row)


def _archived(row: Row) -> Archived:
    extras = json.loads(row["extras"] or "{}")
    headers = {name: text for name, text in extras.get("headers", {}).items() if not name.startswith(OF_THE_BROKER)}
    return Archived(
        queue_id=row["queue_id"],
        index=row["index"],
        tags=tuple(row["queue_tags"]),
        priority=row["priority"],
        body=bytes(row["body"]),
        headers=headers,
        group=extras.get("group"),
        key=extras.get("key"),
        unique=extras.get("unique"),
    )
