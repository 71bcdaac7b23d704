"""Archiving days again: what the journal still has replaces what the archive has of them."""

from collections.abc import Sequence
from datetime import date

from pyspark.sql import SparkSession

from pipeline.archive.appending import write_slice
from pipeline.archive.journal_table import open_journal
from pipeline.archive.leftovers import let_count
from pipeline.archive.offset import days_changed
from pipeline.database import Connection
from pipeline.options import Options
from pipeline.reading.slices import slices


def archive_days_again(
    spark: SparkSession, connection: Connection, options: Options, days: Sequence[date], past: int
) -> int:
    """Replace days by the rows that transactions before `past` wrote, in one commit; return how many."""
    written = [
        write_slice(spark, connection, options, slice_)
        for day in days
        for slice_ in slices(connection, 0, past, options, day)
    ]
    journal = open_journal(connection, options.archive)
    move = journal.prepare(add=[url for each in written for url in each.urls], remove=journal.files_of(days))
    with connection.transaction():
        if move:
            move.make(connection)
        let_count(connection, [each.folder for each in written])
        days_changed(connection, days, (day for each in written for day in each.posted_days))
    return sum(each.rows for each in written)
