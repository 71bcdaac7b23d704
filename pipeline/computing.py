"""Facts of days whose rows changed: from the archive, through the transforms, into Iceberg tables and PostgreSQL.

Days are computed again as a whole and replace what was there, so that it does not matter how often that is done, nor
where it was interrupted: a day is pending until the transaction that merges its facts.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.journal_table import files_about, open_journal, present
from pipeline.archive.leftovers import let_count
from pipeline.archive.staging import read_archived, write_by_day
from pipeline.database import Connection
from pipeline.facts.catalogue import FACTS
from pipeline.facts.sorting import bad_rows, good_rows
from pipeline.lake.catalog import PointerMove
from pipeline.lake.table import LakeTable, open_table, place_of
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.reading.journal import conformed
from pipeline.runs import Run
from pipeline.schemas import JOURNAL
from pipeline.writing.merging import drop_staging, merge_days, stage_facts
from pipeline.writing.tables import Table

DAYS_AT_ONCE = 8


def compute_pending(
    spark: SparkSession, connection: Connection, options: Options, run: Run, progress: Progress
) -> None:
    days = [day for (day,) in connection.execute("SELECT day FROM willow_pending_days ORDER BY 1").fetchall()]
    done = 0
    for some in _groups(days):
        run.facts += compute_days(spark, connection, options, some, run.faults)
        run.days.update(some)
        done += len(some)
        progress.step("Facts", done, len(days))


def compute_days(
    spark: SparkSession, connection: Connection, options: Options, days: Sequence[date], faults: dict[str, int]
) -> int:
    """Compute all facts of the days, replace them everywhere, and return how many rows they are."""
    files = Files(spark, options.archive)
    archived = rows_of_days(spark, connection, files, days)
    for fault in bad_rows(archived).collect():
        faults[fault["fault"]] = faults.get(fault["fault"], 0) + fault["count"]
    rows = good_rows(archived)
    folders, moves = [], []
    for table, transform in FACTS:
        facts = _of_days(conformed(transform(rows), table.schema, f"The facts for {table.name}"), table, days).persist()
        try:
            folder = write_by_day(connection, files, place_of(table.in_lake), facts.coalesce(1), table.time)
            stage_facts(connection, options, table, facts)
        finally:
            facts.unpersist()
        folders.append(folder)
        moves.append(_replacement(connection, files, table, folder, days))
    with connection.transaction():
        written = sum(merge_days(connection, table, days) for table, _ in FACTS)
        for move in moves:
            if move:
                move.make(connection)
        let_count(connection, folders)
        connection.execute("DELETE FROM willow_pending_days WHERE day = ANY (%s)", [list(days)])
    for table, _ in FACTS:
        drop_staging(connection, table)
    return written


def open_facts(connection: Connection, archive: str) -> list[LakeTable]:
    return [open_table(connection, archive, table.in_lake, table.schema, table.time) for table, _ in FACTS]


def rows_of_days(spark: SparkSession, connection: Connection, files: Files, days: Sequence[date]) -> DataFrame:
    """All archived rows that ended on one of the days, or were posted on one."""
    urls = present(files, files_about(open_journal(connection, files.root), days))
    if not urls:
        return spark.createDataFrame([], JOURNAL)
    ended, posted = F.to_date("ended_at"), F.to_date("posted_at")
    return read_archived(spark, urls).where(ended.isin(*days) | posted.isin(*days))


def _of_days(facts: DataFrame, table: Table, days: Sequence[date]) -> DataFrame:
    """Rows posted on these days may have ended on others, and the other way round: those days are not whole."""
    return facts.where(F.to_date(table.time).isin(*days))


def _replacement(
    connection: Connection, files: Files, table: Table, folder: str, days: Sequence[date]
) -> PointerMove | None:
    """The commit by which the days' files of facts give way to those in the folder."""
    lake = open_table(connection, files.root, table.in_lake, table.schema, table.time)
    new = [files.url(path) for path in files.below(folder) if path.endswith(".parquet")]
    return lake.prepare(add=new, remove=lake.files_of(days))


def _groups(days: Sequence[date]) -> Iterator[Sequence[date]]:
    for start in range(0, len(days), DAYS_AT_ONCE):
        yield days[start : start + DAYS_AT_ONCE]
