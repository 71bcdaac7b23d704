"""Comparing whole days of the archive with the journal: rows and checksums, each side read anew."""

from datetime import date, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.archive import checksums
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.database import Connection
from pipeline.lake.table import LakeTable
from pipeline.options import Options
from pipeline.reading.slices import slices

Account = tuple[int, Decimal]  # rows and checksum

ANY_TX = 2**63 - 1  # past all transactions

JOURNAL_DAYS = """
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD')
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'delivery_journal'::regclass AND c.relname ~ '^delivery_journal_[0-9]{8}$'
    ORDER BY 1
"""

OF_SLICE = f"""
    SELECT count(*), coalesce({checksums.IN_POSTGRES}, 0)
    FROM willow_journal_v2
    WHERE tx >= %s::text::xid8 AND tx < %s::text::xid8 AND ended_at >= %s::timestamptz AND ended_at < %s::timestamptz
"""

RECORD = "INSERT INTO willow_archive_days (day, rows, checksum, verified_tx) VALUES (%s, %s, %s, %s)"


def journal_days(connection: Connection) -> list[date]:
    """The days that the journal has a partition for."""
    return [day for (day,) in connection.execute(JOURNAL_DAYS).fetchall()]


def verify_days(
    spark: SparkSession, connection: Connection, options: Options, *, offset: int, today: date
) -> tuple[list[date], list[str]]:
    """Compare each past day of the archive with the journal; return those that agree, and what is wrong with others."""
    journal = open_journal(connection, options.archive)
    compared = {day for (day,) in connection.execute("SELECT day FROM willow_archive_days").fetchall()}
    kept = set(journal_days(connection))  # of what the journal has dropped, there is nothing left to compare with
    agreed, wrong = [], []
    for day in sorted({file.day for file in journal.files() if file.day < today} & kept - compared):
        in_journal = account_of_journal(connection, day, options)
        in_archive = account_of_archive(spark, journal, Files(spark, options.archive), day)
        if in_journal == in_archive:
            connection.execute(RECORD, [day, *in_archive, offset])
            agreed.append(day)
        elif in_archive != account_of_journal(connection, day, options, past=offset):  # else rows are still to come
            wrong.append(
                f"Journal and archive disagree about {day}: {in_journal[0]} rows there, {in_archive[0]} here. "
                "`./willow pipeline backfill` archives the day again."
            )
    return agreed, wrong


def account_of_journal(connection: Connection, day: date, options: Options, past: int = ANY_TX) -> Account:
    """What transactions before `past` wrote, counted in short statements, one for each cut of the day."""
    rows, checksum = 0, Decimal(0)
    since, until = f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z"
    for slice_ in slices(connection, 0, past, options, day):
        for cut in slice_.cuts:
            row = connection.execute(OF_SLICE, [cut.first, cut.past, since, until]).fetchone()
            assert row is not None
            rows, checksum = rows + row[0], checksum + row[1]
    return rows, checksum


def account_of_archive(spark: SparkSession, journal: LakeTable, files: Files, day: date) -> Account:
    urls = present(files, journal.files_of([day]))
    row = read_archived(spark, urls).agg(F.count("*"), checksums.in_spark()).first()
    assert row is not None
    return row[0], Decimal(row[1] or 0)
