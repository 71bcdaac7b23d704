"""What the pipeline's tests work with: a database with a journal to fill, an archive, and runs over both."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from pyspark.sql import SparkSession

from pipeline.archive.appending import append_settled
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal
from pipeline.archive.leftovers import sweep
from pipeline.archive.offset import begin_offset, read_offset
from pipeline.archive.verification import verify_days
from pipeline.computing import open_facts
from pipeline.database import connect, fingerprint
from pipeline.facts.catalogue import FACTS
from pipeline.lake.table import TableFile
from pipeline.options import Options
from pipeline.progress import Silent
from pipeline.run import backfill, run
from pipeline.runs import Run
from tests.support.cluster import PATIENCE
from tests.support.databases import query
from willow_site.processes import wait_until

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
YESTERDAY = NOON - timedelta(days=1)

INSERT = """
    INSERT INTO delivery_journal (queue_id, queue_name, queue_tags, index, outcome, reason, attempt, priority, client,
                                  node, posted_at, assigned_at, ended_at, size, error, body, extras)
    VALUES (%(queue_id)s, %(queue_name)s, %(queue_tags)s, %(index)s, %(outcome)s, %(reason)s, %(attempt)s,
            %(priority)s, %(client)s, %(node)s, %(posted_at)s, %(assigned_at)s, %(ended_at)s, %(size)s,
            %(error)s, %(body)s, %(extras)s)
"""
TABLES = (
    "willow_queue_facts",
    "willow_client_facts",
    "willow_node_facts",
    "willow_service_facts",
    "willow_dead_letter_clusters",
)


def row(index: int, ended_at: datetime = NOON, **changed: Any) -> dict[str, Any]:
    """A row of the journal: a message that waited a second and was worked on for two."""
    return {
        "queue_id": 1,
        "queue_name": "orders",
        "queue_tags": ["eu"],
        "index": index,
        "outcome": "finished",
        "reason": None,
        "attempt": 1,
        "priority": 0,
        "client": "packer",
        "node": "node-1",
        "posted_at": ended_at - timedelta(seconds=3),
        "assigned_at": ended_at - timedelta(seconds=2),
        "ended_at": ended_at,
        "size": 10,
        "error": None,
        "body": None,
        "extras": None,
        **changed,
    }


class Ledger:
    """A database with a journal, an archive, and the pipeline between them."""

    def __init__(self, url: str, archive: Path) -> None:
        self.url = url
        self.folder = archive
        self.options = Options(database_url=url, read_url=url, archive=archive.as_uri())

    def query(self, statement: LiteralString, *parameters: Any) -> list[Any]:
        return query(self.url, statement, *parameters)

    def make_day(self, day: date) -> None:
        self.query("SELECT willow_journal_make_day(%s)", day)

    def write(self, *rows: dict[str, Any]) -> None:
        """All rows in one transaction, which is settled when this returns."""
        with psycopg.connect(self.url) as connection:
            write_rows(connection, rows)
        self.settle()

    def settle(self) -> None:
        """Wait until a run can read all that was written so far.

        It reads no further than to the oldest transaction that is under way, in whichever database of the server: and
        the broker of other tests writes its heartbeat all the while.
        """
        [(now,)] = self.query("SELECT pg_current_xact_id()")
        settled = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > %s::xid8"
        assert wait_until(lambda: self.query(settled, str(now)) == [(True,)], PATIENCE)

    def run(self, spark: SparkSession, **how: Any) -> Run:
        return run(spark, self.options, progress=Silent(), **how)

    def backfill(self, spark: SparkSession, **how: Any) -> Run:
        return backfill(spark, self.options, progress=Silent(), **how)

    def archive(self, spark: SparkSession) -> int:
        """Only the archive's part of a run; return the rows."""
        done: list[int] = []
        with connect(self.url) as connection:
            offset = read_offset(connection) or begin_offset(connection, fingerprint(connection), self.options.archive)
            sweep(connection, Files(spark, self.options.archive))
            append_settled(
                spark,
                connection,
                self.options,
                first=offset.next_tx,
                archived=lambda slice_, _: done.append(slice_.rows),
            )
        return sum(done)

    def verify(self, spark: SparkSession) -> tuple[list[date], list[str]]:
        with connect(self.url) as connection:
            offset = read_offset(connection)
            assert offset is not None
            return verify_days(spark, connection, self.options, offset=offset.next_tx, today=NOON.date())

    def with_options(self, **changed: Any) -> None:
        self.options = replace(self.options, **changed)

    def archived(self, spark: SparkSession) -> list[tuple[int, str]]:
        """Index and outcome of every row in the files that count, in order."""
        urls = [file.url for file in self.files()]
        rows = spark.read.parquet(*urls).select("index", "outcome").collect() if urls else []
        return sorted((row["index"], row["outcome"]) for row in rows)

    def files(self) -> list[TableFile]:
        """The files of the journal that count."""
        with connect(self.url) as connection:
            return open_journal(connection, self.options.archive).files()

    def facts(self) -> dict[str, list[Any]]:
        """All facts, without the numbers of their rows."""
        found = {}
        for table in TABLES:
            rows = self.query(f"SELECT to_jsonb(t) - 'id' FROM {table} t")
            found[table] = sorted(map(str, (row for (row,) in rows)))
        return found

    def archived_facts(self, spark: SparkSession) -> dict[str, list[str]]:
        """The same from the archive's tables."""
        found = {}
        with connect(self.url) as connection:
            for lake, (table, _) in zip(open_facts(connection, self.options.archive), FACTS, strict=True):
                rows = spark.read.schema(table.schema).parquet(*(file.url for file in lake.files())).collect()
                found[table.name] = sorted(map(str, rows))
        return found

    def forget_facts(self) -> None:
        for table in TABLES:
            self.query(f"DELETE FROM {table}")


def write_rows(connection: psycopg.Connection[Any], rows: Sequence[dict[str, Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(INSERT, rows)


def fill(ledger: Ledger, transactions: int) -> None:
    """Ten rows with each transaction: two days, several queues, dead letters, a service."""
    ledger.make_day(YESTERDAY.date())
    for number in range(transactions):
        first = number * 10
        rows = [
            row(first + n, YESTERDAY if n % 2 else NOON, queue_id=n % 3 + 1, queue_name=f"q{n % 3}") for n in range(8)
        ]
        dead = row(first + 8, outcome="dead", reason="failed", error=f"no paper {number}")
        ledger.write(*rows, dead, row(first + 9, queue_name="service:sums", queue_id=9, posted_at=YESTERDAY))


def dying(*args: object, **kwargs: object) -> None:
    """To be put in the place of a step that a run dies in."""
    raise ConnectionAbortedError("as if killed here")
