"""Few large files instead of many small ones."""

from datetime import date
from itertools import groupby
from math import ceil

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.archive import checksums
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.leftovers import let_count
from pipeline.archive.staging import read_archived, write_journal
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.table import TableFile
from pipeline.options import Options

FILE_BYTES = 128 * 1024 * 1024  # a size that Spark, DuckDB and object stores all like
SMALL_BYTES = FILE_BYTES // 2  # larger files are left as they are, or a busy day would be written again and again
MOST_SMALL_FILES = 4  # of a day that was compared, and whose rows come no more
MOST_OF_TODAY = 32  # of a day to which rows are still added


def compact_days(spark: SparkSession, connection: Connection, options: Options) -> list[date]:
    """Write the small files of a day as few large ones, where they are many."""
    compared = {day for (day,) in connection.execute("SELECT day FROM willow_archive_days").fetchall()}
    small = [file for file in open_journal(connection, options.archive).files() if file.bytes < SMALL_BYTES]
    done = []
    for day, of_day in groupby(sorted(small, key=lambda file: file.day), key=lambda file: file.day):
        chosen = list(of_day)
        if len(chosen) > (MOST_SMALL_FILES if day in compared else MOST_OF_TODAY):
            _compact(spark, connection, options, chosen)
            done.append(day)
    return done


def _compact(spark: SparkSession, connection: Connection, options: Options, chosen: list[TableFile]) -> None:
    files = Files(spark, options.archive)
    rows = read_archived(spark, present(files, chosen))
    before = rows.agg(F.count("*").alias("rows"), checksums.in_spark().alias("checksum")).first()
    wanted = ceil(sum(file.bytes for file in chosen) / FILE_BYTES)
    ordered = rows.repartition(wanted, "queue_id").sortWithinPartitions("queue_id", "ended_at", "id")
    written = write_journal(connection, files, ordered, spark)
    listed = sum(file.rows for file in chosen)
    if before is None or (written.rows, written.checksum, written.rows) != (before["rows"], before["checksum"], listed):
        raise PipelineError(
            f"Compacting {chosen[0].day} would have changed its rows; it was left as it is.", "Report this."
        )
    move = open_journal(connection, options.archive).prepare(add=written.urls, remove=chosen)
    with connection.transaction():
        if move:
            move.make(connection)
        let_count(connection, [written.folder])
