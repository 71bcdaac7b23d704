"""New rows of the journal into the archive: slice by slice, each with its own commit."""

from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.archive.files import Files
from pipeline.archive.journal_table import DATABASE, NEXT_TX, open_journal
from pipeline.archive.leftovers import let_count
from pipeline.archive.offset import days_changed, move_offset
from pipeline.archive.staging import Written, write_journal
from pipeline.database import Connection, fingerprint, horizon
from pipeline.errors import PipelineError
from pipeline.failures import known_cause, spark_reason
from pipeline.options import Options
from pipeline.reading.journal import read_slice
from pipeline.reading.slices import Slice, slices

Archived = Callable[[Written, int], None]  # told after each slice: what was written, and the transaction that is next


def append_settled(
    spark: SparkSession, connection: Connection, options: Options, *, first: int, archived: Archived
) -> int:
    """Archive all rows from transaction `first` on that are settled now; return the offset after them."""
    past = horizon(connection)
    offset = first
    notes = {DATABASE: fingerprint(connection)}
    for slice_ in slices(connection, first, past, options):
        written = write_slice(spark, connection, options, slice_)
        journal = open_journal(connection, options.archive)
        move = journal.prepare(add=written.urls, notes=notes | {NEXT_TX: str(slice_.past)})
        with connection.transaction():
            if move:
                move.make(connection)
            let_count(connection, [written.folder])
            days_changed(connection, written.days, written.posted_days, since_tx=slice_.first)
            move_offset(connection, expected=offset, to=slice_.past)
        offset = slice_.past
        archived(written, offset)
    if offset < past:
        move_offset(connection, expected=offset, to=past)
    return max(offset, past)


def write_slice(spark: SparkSession, connection: Connection, options: Options, slice_: Slice) -> Written:
    """Write a slice, and make sure that all of it arrived."""
    files = Files(spark, options.archive)
    try:
        written = write_journal(connection, files, read_slice(spark, slice_, options), spark)
    except (PySparkException, Py4JJavaError) as error:
        raise known_cause(error) or PipelineError(
            f"The journal could not be read: {spark_reason(error)}.",
            "Nothing was lost. Check WILLOW_PIPELINE_READ_URL and the server, and run again.",
        ) from None
    if written.rows != slice_.rows:
        raise PipelineError(
            f"The slice {slice_.first}-{slice_.past} has {slice_.rows} rows in the journal; {written.rows} arrived.",
            "Nothing was committed: run again.",
        )
    return written
