"""Facts of days whose rows changed: from the archive, through the transforms, into Iceberg tables and PostgreSQL.

Facts are computed again and replace what was there, so that it does not matter how often that is done, nor where it was
interrupted: a day is pending until the transaction that merges its facts. How much of a day is computed again depends
on what changed:

- only that messages which were posted on it have ended since: `posted` is counted again, and all else stays;
- few rows came to many: what these rows are part of is computed again, such as a minute of a queue, and all else stays;
- otherwise, all of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.journal_table import files_about, open_journal, present
from pipeline.archive.staging import read_archived
from pipeline.beside import Beside
from pipeline.database import Connection
from pipeline.facts.catalogue import FACTS
from pipeline.facts.queues import with_posted
from pipeline.facts.scope import Scope
from pipeline.facts.sorting import bad_rows, good_rows
from pipeline.lake.table import LakeTable
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.runs import Run
from pipeline.schemas import JOURNAL
from pipeline.writing.days import known_facts, open_lake, replace_days
from pipeline.writing.tables import QUEUE_FACTS

DAYS_AT_ONCE = 8
LARGE_ROWS = 2_000_000  # from here on, durations are looked for in ranges, in bounded memory
FEW_SHARE = 4  # rows are few if there are so many times as many in all

PENDING = "SELECT day, since_tx FROM willow_pending_days WHERE posted_only = %s ORDER BY 1"


@dataclass(frozen=True)
class Pending:
    day: date
    since_tx: int | None  # the new rows are of transactions from this one on; unknown: all may be new


Compute = Callable[..., int]


def compute_pending(
    spark: SparkSession, connection: Connection, options: Options, run: Run, progress: Progress, beside: Beside
) -> None:
    posted = _pending(connection, posted_only=True)
    changed = _pending(connection, posted_only=False)
    late = [pending for pending in changed if _got_few_rows(open_journal(connection, options.archive), pending)]
    whole = [pending for pending in changed if pending not in late]
    done = 0
    for compute, those in ((compute_posted, posted), (compute_late, late), (compute_days, whole)):
        for group in _groups(those):
            run.facts += compute(spark, connection, options, group, run.faults, beside)
            run.days.update(pending.day for pending in group)
            done += len(group)
            progress.step("Facts", done, len(posted) + len(changed))


def compute_days(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    pending: Sequence[Pending],
    faults: dict[str, int],
    beside: Beside,
) -> int:
    """Compute all facts of the days, replace them everywhere, and return how many rows they are."""
    files = Files(spark, options.archive)
    days = [each.day for each in pending]
    rows, is_large = _rows_of_days(spark, connection, files, days)
    _count_bad(rows, faults)
    good = good_rows(rows)
    facts = ((table, transform(good, Scope(large=is_large))) for table, transform in FACTS)
    return replace_days(connection, options, files, days, facts, beside)


def compute_late(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    pending: Sequence[Pending],
    faults: dict[str, int],
    beside: Beside,
) -> int:
    """Compute those facts of the days again that new rows are part of; all others stay as they are."""
    files = Files(spark, options.archive)
    days = [each.day for each in pending]
    rows, is_large = _rows_of_days(spark, connection, files, days)
    is_new = reduce(or_, (_is_about([each.day]) & (F.col("tx") >= F.lit(each.since_tx)) for each in pending))
    _count_bad(rows.where(is_new), faults)
    scope = Scope(large=is_large, late=good_rows(rows.where(is_new)))
    facts = ((table, transform(good_rows(rows), scope)) for table, transform in FACTS)
    return replace_days(connection, options, files, days, facts, beside, are_whole=False)


def compute_posted(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    pending: Sequence[Pending],
    faults: dict[str, int],
    beside: Beside,
) -> int:
    """Count again what was posted on the days; all their other facts stay as they are."""
    files = Files(spark, options.archive)
    days = [each.day for each in pending]
    rows, _ = _rows_of_days(spark, connection, files, days)
    facts = with_posted(known_facts(spark, connection, files, QUEUE_FACTS, days), good_rows(rows))
    return replace_days(connection, options, files, days, [(QUEUE_FACTS, facts)], beside)


def open_facts(connection: Connection, archive: str) -> list[LakeTable]:
    return [open_lake(connection, archive, table) for table, _ in FACTS]


def _pending(connection: Connection, *, posted_only: bool) -> list[Pending]:
    return [Pending(*row) for row in connection.execute(PENDING, [posted_only]).fetchall()]


def _got_few_rows(journal: LakeTable, pending: Pending) -> bool:
    """As far as can be told from the list of files."""
    if pending.since_tx is None:
        return False
    files = files_about(journal, [pending.day])
    new = sum(file.rows for file in files if journal.greatest(file, "tx") >= pending.since_tx)
    return new * FEW_SHARE <= sum(file.rows for file in files)


def _rows_of_days(
    spark: SparkSession, connection: Connection, files: Files, days: Sequence[date]
) -> tuple[DataFrame, bool]:
    """All archived rows that ended on one of the days, or were posted on one; and whether these are very many."""
    listed = files_about(open_journal(connection, files.root), days)
    urls = present(files, listed)
    if not urls:
        return spark.createDataFrame([], JOURNAL), False
    return read_archived(spark, urls).where(_is_about(days)), sum(file.rows for file in listed) > LARGE_ROWS


def _is_about(days: Sequence[date]) -> Column:
    return F.to_date("ended_at").isin(*days) | F.to_date("posted_at").isin(*days)


def _count_bad(rows: DataFrame, faults: dict[str, int]) -> None:
    for fault in bad_rows(rows).collect():
        faults[fault["fault"]] = faults.get(fault["fault"], 0) + fault["count"]


def _groups(pending: Sequence[Pending]) -> Iterator[Sequence[Pending]]:
    for start in range(0, len(pending), DAYS_AT_ONCE):
        yield pending[start : start + DAYS_AT_ONCE]
