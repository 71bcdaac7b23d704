"""One erasure from end to end: written down, then finished as every run would finish it."""

from pyspark.sql import SparkSession

from pipeline.database import connect, sole_run
from pipeline.erasing.proof import count_everywhere, now
from pipeline.erasing.record import Counts, begin
from pipeline.erasing.selection import Selection
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.run import everything
from pipeline.runs import recorded
from pipeline.writing.merging import drop_leftovers

__all__ = ["Selection", "erase"]

PROOF = "SELECT before, after FROM willow_erasures WHERE target = %s ORDER BY id DESC LIMIT 1"


def erase(spark: SparkSession, options: Options, selection: Selection, *, progress: Progress) -> tuple[Counts, Counts]:
    """Erase, and return how many rows had something to erase before and after, by where they are."""
    with (
        connect(options.database_url) as connection,
        sole_run(connection),
        recorded(connection, "erase", options) as record,
    ):
        drop_leftovers(connection)
        begin(connection, selection, count_everywhere(spark, connection, options, selection, now(connection)))
        everything(spark, connection, options, record, progress)
        row = connection.execute(PROOF, [selection.target]).fetchone()
        assert row is not None
        return row[0], row[1]
