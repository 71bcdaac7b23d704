"""Counting what there is to erase: before, and after, when it must be nothing."""

from datetime import datetime
from typing import LiteralString

from pyspark.sql import SparkSession

from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.archive.verification import journal_days
from pipeline.database import Connection, value, without_bound
from pipeline.erasing.record import Counts
from pipeline.erasing.selection import Selection, is_personal
from pipeline.erasing.steps import HAS_PERSONAL, IS_DEAD_LETTER, IS_REMEMBERED, bounds_of
from pipeline.options import Options

# Buckets that were over when the erasure began: later ones may count what the client did since.
OVER: LiteralString = (
    "bucket + CASE grain WHEN 'minute' THEN interval '1 minute' WHEN 'hour' THEN interval '1 hour'"
    " ELSE interval '1 day' END <= %(begun)s"
)


def count_everywhere(
    spark: SparkSession, connection: Connection, options: Options, selection: Selection, begun: datetime
) -> Counts:
    with without_bound(connection):
        return {
            "journal": _in_journal(connection, selection, begun),
            "archive": _in_archive(spark, connection, options, selection, begun),
            "dead letters": _among_dead_letters(connection, selection, begun),
            "facts": _in_facts(connection, selection, begun),
        }


def _in_journal(connection: Connection, selection: Selection, begun: datetime) -> int:
    """Day by day, so that no snapshot is held for long."""
    condition, parameters = selection.in_journal()
    query: LiteralString = (
        "SELECT count(*) FROM willow_journal_v2 WHERE "
        + condition
        + " AND "
        + HAS_PERSONAL
        + " AND ended_at < %(begun)s AND ended_at >= %(since)s AND ended_at < %(until)s"
    )
    days = journal_days(connection)
    return sum(_count(connection, query, parameters | {"begun": begun} | bounds_of(day)) for day in days)


def _among_dead_letters(connection: Connection, selection: Selection, begun: datetime) -> int:
    """Also those that were redriven, for as long as they can be brought back."""
    condition, parameters = selection.among_dead_letters()
    dead: LiteralString = (
        "SELECT count(*) FROM delivery_message m WHERE "
        + condition
        + " AND "
        + IS_DEAD_LETTER
        + " AND m.died_at < %(begun)s"
    )
    condition, of_redriven = selection.among_redriven()
    redriven: LiteralString = (
        "SELECT count(*) FROM delivery_redrivenmessage r WHERE " + condition + " AND " + IS_REMEMBERED
    )
    return _count(connection, dead, parameters | {"begun": begun}) + _count(connection, redriven, of_redriven)


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
