"""Facts of days whose rows changed: from the archive, through the transforms, into Iceberg tables and PostgreSQL.

Days are computed again and replace what was there, so that it does not matter how often that is done, nor where it was
interrupted: a day is pending until the transaction that merges its facts. Days whose only news is that messages which
were posted on them have ended since are not computed as a whole: only `posted` has changed.

Rows may come to a pending day while it is computed. It is marked again then, and its mark is not taken away.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.journal_table import files_about, open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.beside import Beside
from pipeline.database import Connection
from pipeline.facts.catalogue import FACTS
from pipeline.facts.queues import with_posted
from pipeline.facts.sorting import bad_rows, good_rows
from pipeline.lake.table import LakeTable, TableFile
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.runs import Run
from pipeline.schemas import JOURNAL
from pipeline.writing.days import open_lake, replace_days
from pipeline.writing.tables import QUEUE_FACTS

DAYS_AT_ONCE = 8
LARGE_ROWS = 2_000_000  # from here on, days' durations are sorted range by range, in bounded memory

PENDING = "SELECT day, xmin::text FROM willow_pending_days WHERE posted_only = %s ORDER BY 1"

Pending = dict[date, str]  # days, each with the mark that it is pending by: a new one for every time it is marked


def compute_pending(
    spark: SparkSession, connection: Connection, options: Options, run: Run, progress: Progress, beside: Beside
) -> None:
    for days in _groups(_pending(connection, posted_only=True)):
        run.facts += compute_posted(spark, connection, options, days, beside)
        run.days.update(days)
    whole = _pending(connection, posted_only=False)
    for number, days in enumerate(_groups(whole), start=1):
        run.facts += compute_days(spark, connection, options, days, run.faults, beside)
        run.days.update(days)
        progress.step("Facts", min(number * DAYS_AT_ONCE, len(whole)), len(whole))


def compute_days(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    days: Pending,
    faults: dict[str, int],
    beside: Beside,
) -> int:
    """Compute all facts of the days, replace them everywhere, and return how many rows they are."""
    files = Files(spark, options.archive)
    listed = _files_now(connection, files, days, beside)
    large = sum(file.rows for file in listed) > LARGE_ROWS
    archived = _rows_of_days(spark, files, listed, days)
    for fault in bad_rows(archived).collect():
        faults[fault["fault"]] = faults.get(fault["fault"], 0) + fault["count"]
    rows = good_rows(archived)
    facts = ((table, transform(rows, large=large)) for table, transform in FACTS)
    return replace_days(connection, options, files, days, facts, beside)


def compute_posted(spark: SparkSession, connection: Connection, options: Options, days: Pending, beside: Beside) -> int:
    """Count again what was posted on the days; all their other facts stay as they are."""
    files = Files(spark, options.archive)
    listed = _files_now(connection, files, days, beside)
    rows = good_rows(_rows_of_days(spark, files, listed, days))
    known = present(files, open_lake(connection, files.root, QUEUE_FACTS).files_of(list(days)))
    facts = spark.read.schema(QUEUE_FACTS.schema).parquet(*known) if known else _nothing(spark)
    return replace_days(connection, options, files, days, [(QUEUE_FACTS, with_posted(facts, rows))], beside)


def _files_now(connection: Connection, files: Files, days: Pending, beside: Beside) -> list[TableFile]:
    """The files to compute from. What steps compute from now on may be of more."""
    with beside.commits:
        beside.fresh.clear()
        return list(files_about(open_journal(connection, files.root), list(days)))


def open_facts(connection: Connection, archive: str) -> list[LakeTable]:
    return [open_lake(connection, archive, table) for table, _ in FACTS]


def _pending(connection: Connection, *, posted_only: bool) -> Pending:
    return dict(connection.execute(PENDING, [posted_only]).fetchall())


def _rows_of_days(spark: SparkSession, files: Files, listed: Sequence[TableFile], days: Iterable[date]) -> DataFrame:
    """All archived rows that ended on one of the days, or were posted on one."""
    urls = present(files, listed)
    if not urls:
        return spark.createDataFrame([], JOURNAL)
    ended, posted = F.to_date("ended_at"), F.to_date("posted_at")
    return read_archived(spark, urls).where(ended.isin(*days) | posted.isin(*days))


def _nothing(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], QUEUE_FACTS.schema)


def _groups(days: Pending) -> Iterator[Pending]:
    marked = list(days.items())
    for start in range(0, len(marked), DAYS_AT_ONCE):
        yield dict(marked[start : start + DAYS_AT_ONCE])
