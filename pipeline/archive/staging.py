"""Writing files and looking at what was really written, before anything counts."""

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive import checksums
from pipeline.archive.files import Files
from pipeline.archive.leftovers import announce
from pipeline.database import Connection
from pipeline.facts.buckets import bucket_start
from pipeline.schemas import JOURNAL

DAY_FOLDER = "day_folder"  # the column that only says into which folder a row goes


@dataclass(frozen=True)
class Written:
    """Files that do not count yet, and what is in them, as read back from them."""

    folder: str
    urls: tuple[str, ...]
    rows: int
    bytes: int
    checksum: Decimal
    days: frozenset[date]
    posted_days: frozenset[date]
    minutes: frozenset[datetime]  # in which messages ended or were posted


def write_journal(connection: Connection, files: Files, rows: DataFrame, spark: SparkSession) -> Written:
    """Write rows into files of their own, by day, and read them back."""
    folder = write_by_day(connection, files, "journal", rows, "ended_at")
    urls = tuple(files.url(path) for path in files.below(folder) if path.endswith(".parquet"))
    if not urls:
        return Written(folder, (), 0, 0, Decimal(0), frozenset(), frozenset(), frozenset())
    found = read_archived(spark, list(urls)).agg(
        F.count("*").alias("rows"),
        checksums.in_spark().alias("checksum"),
        F.collect_set(F.to_date("ended_at")).alias("days"),
        F.collect_set(F.to_date("posted_at")).alias("posted_days"),
        *(
            F.collect_set(F.unix_seconds(bucket_start(time, "minute"))).alias(time)
            for time in ("ended_at", "posted_at")
        ),
    )
    row = found.first()
    assert row is not None
    return Written(
        folder,
        urls,
        row["rows"],
        files.size(folder),
        Decimal(row["checksum"]),
        frozenset(row["days"]),
        frozenset(row["posted_days"]),
        frozenset(datetime.fromtimestamp(seconds, UTC) for seconds in {*row["ended_at"], *row["posted_at"]}),
    )


def write_by_day(connection: Connection, files: Files, place: str, rows: DataFrame, time: str) -> str:
    """Write rows into a new folder of a table, in which each day has a folder of its own; return the folder."""
    folder = f"{place}/data/{uuid.uuid4().hex}"
    announce(connection, folder)
    by_day = rows.withColumn(DAY_FOLDER, F.to_date(time))
    by_day.write.partitionBy(DAY_FOLDER).parquet(files.url(folder))
    return folder


def read_archived(spark: SparkSession, urls: list[str]) -> DataFrame:
    """Rows of the archive in today's schema: a column that older files lack reads as null."""
    return spark.read.schema(JOURNAL).parquet(*urls)
