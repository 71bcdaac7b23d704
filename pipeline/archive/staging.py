"""Writing files aside and looking at what was really written, before anything counts."""

import uuid
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive import checksums
from pipeline.archive.files import Files
from pipeline.archive.parts import STAGING, Part
from pipeline.schemas import JOURNAL


def stage(rows: DataFrame, files: Files) -> str:
    """Write rows aside, by day, and return the folder."""
    folder = f"{STAGING}/{uuid.uuid4().hex}"
    rows.withColumn("day", F.to_date("ended_at")).write.partitionBy("day").parquet(files.url(folder))
    return folder


def staged_parts(spark: SparkSession, files: Files, folder: str, tx_from: int, tx_to: int) -> list[Part]:
    """The files in a folder, with counts and checksums read back from them."""
    if not any(name.startswith("day=") for name in files.folders(folder)):
        return []
    rows = read_archived(spark, [files.url(folder)])
    per_file = rows.groupBy(
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_size").alias("bytes"),
        F.to_date("ended_at").alias("day"),
    ).agg(
        F.count("*").alias("rows"),
        checksums.in_spark().alias("checksum"),
        F.min("posted_at").alias("posted_from"),
        F.max("posted_at").alias("posted_to"),
    )
    parts = []
    for number, row in enumerate(sorted(per_file.collect(), key=lambda row: row["file"])):
        staged = row["file"][row["file"].index(folder) :]
        name = f"{tx_from}-{tx_to}-{number}-{folder[-8:]}.parquet"
        parts.append(
            Part(
                path=f"journal/day={row['day']}/{name}",
                staged=staged,
                day=row["day"],
                rows=row["rows"],
                checksum=row["checksum"],
                bytes=row["bytes"],
                posted_from=row["posted_from"],
                posted_to=row["posted_to"],
                tx_from=tx_from,
                tx_to=tx_to,
            )
        )
    return parts


def posted_days(spark: SparkSession, files: Files, folder: str) -> list[date]:
    rows = read_archived(spark, [files.url(folder)])
    return [row[0] for row in rows.select(F.to_date("posted_at")).distinct().collect()]


def read_archived(spark: SparkSession, urls: list[str]) -> DataFrame:
    """Rows of the archive in today's schema: a column that older files lack reads as null."""
    return spark.read.schema(JOURNAL).parquet(*urls)
