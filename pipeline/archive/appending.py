"""New rows of the journal into the archive: slice by slice, each with its own commit."""

from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.archive.files import Files
from pipeline.archive.parts import Part, add_parts, days_changed, move_offset, roll_forward
from pipeline.archive.staging import posted_days, stage, staged_parts
from pipeline.database import Connection, horizon
from pipeline.errors import PipelineError
from pipeline.failures import spark_reason
from pipeline.options import Options
from pipeline.reading.journal import read_slice
from pipeline.reading.slices import Slice, slices

Archived = Callable[[int, int], None]  # told after each slice: its rows, and the transaction that is next


def append_settled(
    spark: SparkSession, connection: Connection, options: Options, *, first: int, archived: Archived
) -> int:
    """Archive all rows from transaction `first` on that are settled now; return the offset after them."""
    files = Files(spark, options.archive)
    past = horizon(connection)
    offset = first
    for slice_ in slices(connection, first, past, options):
        folder, parts = stage_slice(spark, files, options, slice_)
        posted = posted_days(spark, files, folder)
        with connection.transaction():
            add_parts(connection, parts)
            days_changed(connection, (part.day for part in parts), posted)
            move_offset(connection, expected=offset, to=slice_.past)
        roll_forward(connection, files)
        offset = slice_.past
        archived(slice_.rows, offset)
    if offset < past:
        move_offset(connection, expected=offset, to=past)
    return max(offset, past)


def stage_slice(spark: SparkSession, files: Files, options: Options, slice_: Slice) -> tuple[str, list[Part]]:
    """Write a slice aside, and make sure that all of it arrived."""
    try:
        folder = stage(read_slice(spark, slice_, options), files)
    except (PySparkException, Py4JJavaError) as error:
        raise PipelineError(
            f"The journal could not be read: {spark_reason(error)}.",
            "Nothing was lost. Check WILLOW_PIPELINE_READ_URL and the server, and run again.",
        ) from None
    parts = staged_parts(spark, files, folder, slice_.first, slice_.past)
    arrived = sum(part.rows for part in parts)
    if arrived != slice_.rows:
        raise PipelineError(
            f"The slice {slice_.first}-{slice_.past} has {slice_.rows} rows in the journal, but {arrived} arrived.",
            "Nothing was committed: run again.",
        )
    return folder, parts
