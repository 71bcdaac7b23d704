"""Counting what there is to erase: before, and after, when it must be nothing."""

from datetime import datetime
from typing import LiteralString

from pyspark.sql import SparkSession

from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.database import Connection, value
from pipeline.erasing.record import Counts
from pipeline.erasing.selection import Selection, is_personal
from pipeline.erasing.steps import HAS_PERSONAL, IS_DEAD_LETTER
from pipeline.options import Options

# Buckets that were over when the erasure began: later ones may count what the client did since.
OVER: LiteralString = (
    "bucket + CASE grain WHEN 'minute' THEN interval '1 minute' WHEN 'hour' THEN interval '1 hour'"
    " ELSE interval '1 day' END <= %(begun)s"
)


def count_everywhere(
    spark: SparkSession, connection: Connection, options: Options, selection: Selection, begun: datetime
) -> Counts:
    journal, of_journal = selection.in_journal()
    dead, of_dead = selection.among_dead_letters()
    in_journal: LiteralString = (
        "SELECT count(*) FROM willow_journal_v2 WHERE " + journal + " AND " + HAS_PERSONAL + " AND ended_at < %(begun)s"
    )
    in_dead_letters: LiteralString = (
        "SELECT count(*) FROM delivery_message m WHERE "
        + dead
        + " AND "
        + IS_DEAD_LETTER
        + " AND m.died_at < %(begun)s"
    )
    return {
        "journal": _count(connection, in_journal, of_journal | {"begun": begun}),
        "archive": _in_archive(spark, connection, options, selection, begun),
        "dead letters": _count(connection, in_dead_letters, of_dead | {"begun": begun}),
        "facts": _in_facts(connection, selection, begun),
    }


def _in_archive(
    spark: SparkSession, connection: Connection, options: Options, selection: Selection, begun: datetime
) -> int:
    files = Files(spark, options.archive)
    urls = present(files, open_journal(connection, options.archive).files())
    return read_archived(spark, urls).where(selection.in_archive(begun) & is_personal()).count() if urls else 0


def _in_facts(connection: Connection, selection: Selection, begun: datetime) -> int:
    """Rows of facts that name somebody, or quote an error."""
    if selection.client is not None:
        query: LiteralString = "SELECT count(*) FROM willow_client_facts WHERE client = %(client)s AND " + OVER
        return _count(connection, query, {"client": selection.client, "begun": begun})
    if selection.before is not None:
        return _count(
            connection,
            "SELECT (SELECT count(*) FROM willow_client_facts WHERE client <> ''"
            " AND (bucket AT TIME ZONE 'UTC')::date < %(before)s)"
            " + (SELECT count(*) FROM willow_dead_letter_clusters WHERE example <> '' AND day < %(before)s)",
            {"before": selection.before},
        )
    return 0


def _count(connection: Connection, query: LiteralString, parameters: dict[str, object]) -> int:
    row = connection.execute(query, parameters).fetchone()
    return int(row[0]) if row else 0


def now(connection: Connection) -> datetime:
    moment = value(connection, "SELECT now()")
    assert isinstance(moment, datetime)
    return moment
