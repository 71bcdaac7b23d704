"""The steps of an erasure. Each finds only what is still to be done, so each can be done again."""

from datetime import date, timedelta
from math import ceil
from typing import LiteralString

from psycopg import sql
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.archive.compaction import FILE_BYTES
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.leftovers import let_count
from pipeline.archive.offset import days_changed, mark_pending
from pipeline.archive.staging import read_archived, write_journal
from pipeline.archive.verification import journal_days
from pipeline.database import Connection
from pipeline.erasing.record import Erasure
from pipeline.erasing.selection import PERSONAL, is_personal
from pipeline.errors import PipelineError
from pipeline.lake.table import TableFile
from pipeline.options import Options

HAS_PERSONAL: LiteralString = "(coalesce(client, error, extras::text) IS NOT NULL OR body IS NOT NULL)"
IS_DEAD_LETTER: LiteralString = (
    "m.died_at IS NOT NULL AND (m.body <> ''::bytea OR m.headers IS NOT NULL"
    " OR coalesce(m.last_client, m.last_error, m.key, m.group_key, m.unique_key) IS NOT NULL)"
)
IS_REMEMBERED: LiteralString = "coalesce(r.client, r.error) IS NOT NULL"


def redact_journal(connection: Connection, erasure: Erasure) -> None:
    """Day by day, so that no statement is long; then the space of the old rows is freed."""
    condition, parameters = erasure.selection.in_journal()
    update: LiteralString = (
        "UPDATE delivery_journal SET client = NULL, error = NULL, body = NULL, extras = NULL WHERE "
        + condition
        + " AND "
        + HAS_PERSONAL
        + " AND ended_at < %(begun)s AND ended_at >= %(since)s AND ended_at < %(until)s"
    )
    forget: LiteralString = (
        "DELETE FROM delivery_keptreply WHERE (queue_id, index) IN (SELECT queue_id, index FROM delivery_journal WHERE "
        + condition
        + " AND ended_at < %(begun)s)"
    )
    connection.execute(forget, parameters | {"begun": erasure.begun})
    for day in journal_days(connection):
        with connection.transaction():
            found = connection.execute(update, parameters | {"begun": erasure.begun} | bounds_of(day)).rowcount
            if found:  # facts may know these rows before the archive does: those of minutes, from `follow`
                mark_pending(connection, [day])
        if found:
            _vacuum(connection, f"delivery_journal_{day:%Y%m%d}")


def bounds_of(day: date) -> dict[str, str]:
    return {"since": f"{day}T00:00:00Z", "until": f"{day + timedelta(days=1)}T00:00:00Z"}


def redact_dead_letters(connection: Connection, erasure: Erasure) -> None:
    condition, parameters = erasure.selection.among_dead_letters()
    update: LiteralString = (
        "UPDATE delivery_message m SET body = ''::bytea, headers = NULL, key = NULL, group_key = NULL,"
        " unique_key = NULL, last_error = NULL, last_client = NULL WHERE "
        + condition
        + " AND m.died_at < %(begun)s AND "
        + IS_DEAD_LETTER
    )
    if connection.execute(update, parameters | {"begun": erasure.begun}).rowcount:
        _vacuum(connection, "delivery_message")
    _redact_redriven(connection, erasure)
    if erasure.selection.client is not None:
        connection.execute("DELETE FROM willow_health_findings WHERE client = %s", [erasure.selection.client])


def _redact_redriven(connection: Connection, erasure: Erasure) -> None:
    """To undo a redrive would bring back what its dead letters were."""
    condition, parameters = erasure.selection.among_redriven()
    update: LiteralString = (
        "UPDATE delivery_redrivenmessage r SET error = NULL, client = NULL WHERE " + condition + " AND " + IS_REMEMBERED
    )
    if connection.execute(update, parameters).rowcount:
        _vacuum(connection, "delivery_redrivenmessage")


def redact_archive(spark: SparkSession, connection: Connection, options: Options, erasure: Erasure) -> None:
    """Write the files that have such rows again without their personal columns, and replace them in one commit."""
    files = Files(spark, options.archive)
    journal = open_journal(connection, options.archive)
    chosen = concerned(spark, files, journal.files(), erasure)
    if not chosen:
        return
    meant = erasure.selection.in_archive(erasure.begun)
    rows = read_archived(spark, [file.url for file in chosen]).withColumns(
        {name: F.when(~meant, F.col(name)) for name in PERSONAL}
    )
    wanted = ceil(sum(file.bytes for file in chosen) / FILE_BYTES)
    written = write_journal(connection, files, rows.coalesce(wanted), spark)
    if written.rows != sum(file.rows for file in chosen):
        raise PipelineError("Erasing would have lost rows of the archive; it was left as it is.", "Report this.")
    move = journal.prepare(add=written.urls, remove=chosen)
    with connection.transaction():
        if move:
            move.make(connection)
        let_count(connection, [written.folder])
        days_changed(connection, written.days, ())


def concerned(spark: SparkSession, files: Files, listed: list[TableFile], erasure: Erasure) -> list[TableFile]:
    """The files that have rows with something to erase."""
    if erasure.selection.before is not None:
        listed = [file for file in listed if file.day < erasure.selection.before]
    if not listed:
        return []
    rows = read_archived(spark, present(files, listed)).where(
        erasure.selection.in_archive(erasure.begun) & is_personal()
    )
    found = {row[0] for row in rows.select("_metadata.file_name").distinct().collect()}
    return [file for file in listed if file.url.rpartition("/")[2] in found]


def _vacuum(connection: Connection, table: str) -> None:
    connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier(table)))
