"""Archiving days again: what the journal still has replaces what the archive has of them."""

from collections.abc import Sequence
from datetime import date

from pyspark.sql import SparkSession

from pipeline.archive.appending import stage_slice
from pipeline.archive.files import Files
from pipeline.archive.parts import Part, add_parts, days_changed, retire_day, roll_forward
from pipeline.archive.staging import posted_days
from pipeline.database import Connection
from pipeline.options import Options
from pipeline.reading.slices import slices


def archive_days_again(
    spark: SparkSession, connection: Connection, options: Options, days: Sequence[date], past: int
) -> int:
    """Replace days by the rows that transactions before `past` wrote, in one commit; return how many."""
    files = Files(spark, options.archive)
    parts: list[Part] = []
    posted: set[date] = set()
    for slice_ in (slice_ for day in days for slice_ in slices(connection, 0, past, options, day)):
        folder, staged = stage_slice(spark, files, options, slice_)
        parts += staged
        posted.update(posted_days(spark, files, folder))
    with connection.transaction():
        for day in days:
            retire_day(connection, day)
        add_parts(connection, parts)
        days_changed(connection, days, posted)
    roll_forward(connection, files)
    return sum(part.rows for part in parts)
