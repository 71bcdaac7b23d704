"""Few large files instead of many small ones, for days that were compared and whose rows come no more."""

from datetime import date
from math import ceil

from pyspark.sql import SparkSession

from pipeline.archive.files import Files
from pipeline.archive.parts import add_parts, paths_of_day, present, retire_day, roll_forward
from pipeline.archive.staging import read_archived, stage, staged_parts
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.options import Options

FILE_BYTES = 128 * 1024 * 1024  # a size that Spark, DuckDB and object stores all like
MOST_SMALL_FILES = 4

IN_SMALL_FILES = """
    SELECT p.day, sum(p.bytes)::bigint FROM willow_archive_parts p JOIN willow_archive_days d ON d.day = p.day
    WHERE p.state = 'placed'
    GROUP BY p.day HAVING count(*) > %s AND count(*) > 2 * ceil(sum(p.bytes) / %s)
    ORDER BY 1
"""

ACCOUNT = """
    SELECT min(tx_from), max(tx_to), sum(rows), sum(checksum) FROM willow_archive_parts
    WHERE day = %s AND state = 'placed'
"""


def compact_days(spark: SparkSession, connection: Connection, options: Options) -> list[date]:
    """Rewrite days that are in many small files; only days that were compared, whose rows come no more."""
    files = Files(spark, options.archive)
    days = connection.execute(IN_SMALL_FILES, [MOST_SMALL_FILES, FILE_BYTES]).fetchall()
    for day, size in days:
        _compact(spark, connection, files, day, ceil(size / FILE_BYTES))
    return [day for day, _ in days]


def _compact(spark: SparkSession, connection: Connection, files: Files, day: date, wanted: int) -> None:
    rows = read_archived(spark, present(files, paths_of_day(connection, day)))
    folder = stage(rows.repartition(wanted, "queue_id").sortWithinPartitions("queue_id", "ended_at", "id"), files)
    before = connection.execute(ACCOUNT, [day]).fetchone()
    assert before is not None
    parts = staged_parts(spark, files, folder, before[0], before[1])
    if (sum(part.rows for part in parts), sum(part.checksum for part in parts)) != (before[2], before[3]):
        raise PipelineError(f"Compacting {day} would have changed its rows; it was left as it is.", "Report this.")
    with connection.transaction():
        retire_day(connection, day)
        add_parts(connection, parts)
    roll_forward(connection, files)
