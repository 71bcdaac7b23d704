"""Facts of days whose rows changed: from the archive, through the transforms, into Iceberg tables and PostgreSQL.

Facts are computed again and replace what was there, so that it does not matter how often that is done, nor where it was
interrupted: a day is pending until the transaction that merges its facts. How much of a day is computed again depends
on what changed:

- only that messages which were posted on it have ended since: `posted` is counted again, and all else stays;
- few rows came to many: what these rows are part of is computed again, such as a minute of a queue, and all else stays;
- otherwise, all of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from pipeline.writing.tables import QUEUE_FACTS, Table

DAYS_AT_ONCE = 8
LARGE_ROWS = 2_000_000  # from here on, durations are looked for in ranges, in bounded memory
FEW_SHARE = 4  # rows are few if there are so many times as many in all

PENDING = "SELECT day, since_tx FROM willow_pending_days WHERE posted_only = %s ORDER BY 1"


@dataclass(frozen=True)
class Pending:
    day: date
    since_tx: int | None  # the new rows are of transactions from this one on; unknown: all may be new


@dataclass(frozen=True)
class Days:
    """Days that are computed together."""

    pending: Sequence[Pending]
    rows: DataFrame  # all archived ones that ended on one of the days, or were posted on one
    are_large: bool
    known: Callable[[Table], DataFrame]  # the facts that the archive has of the days

    @property
    def days(self) -> list[date]:
        return [each.day for each in self.pending]


@dataclass(frozen=True)
class Fresh:
    """What takes the place of facts of the days."""

    facts: Iterable[tuple[Table, DataFrame]]
    new_rows: DataFrame | None  # among which odd ones are counted
    are_whole: bool = True  # or else all other facts of the days stay as they are


def compute_pending(
    spark: SparkSession, connection: Connection, options: Options, run: Run, progress: Progress, beside: Beside
) -> None:
    files = Files(spark, options.archive)
    posted = _pending(connection, posted_only=True)
    changed = _pending(connection, posted_only=False)
    late = [pending for pending in changed if _got_few_rows(open_journal(connection, options.archive), pending)]
    whole = [pending for pending in changed if pending not in late]
    done = 0
    for compute, those in ((compute_posted, posted), (compute_late, late), (compute_whole, whole)):
        for group in _groups(those):
            days = _days(spark, connection, files, group)
            fresh = compute(days)
            if fresh.new_rows is not None:
                _count_bad(fresh.new_rows, run.faults)
            run.facts += replace_days(
                connection, options, files, days.days, fresh.facts, beside, are_whole=fresh.are_whole
            )
            run.days.update(days.days)
            done += len(group)
            progress.step("Facts", done, len(posted) + len(changed))


def compute_whole(days: Days) -> Fresh:
    """All facts of the days."""
    good, scope = good_rows(days.rows), Scope(large=days.are_large)
    return Fresh(((table, transform(good, scope)) for table, transform in FACTS), days.rows)


def compute_late(days: Days) -> Fresh:
    """Those facts of the days that new rows are part of."""
    is_new = reduce(or_, (_is_about([each.day]) & (F.col("tx") >= F.lit(each.since_tx)) for each in days.pending))
    new = days.rows.where(is_new)
    good, scope = good_rows(days.rows), Scope(large=days.are_large, late=good_rows(new))
    return Fresh(((table, transform(good, scope)) for table, transform in FACTS), new, are_whole=False)


def compute_posted(days: Days) -> Fresh:
    """What was posted on the days is counted again; what is known of them otherwise is taken as it is."""
    return Fresh([(QUEUE_FACTS, with_posted(days.known(QUEUE_FACTS), good_rows(days.rows)))], None)


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


def _days(spark: SparkSession, connection: Connection, files: Files, pending: Sequence[Pending]) -> Days:
    days = [each.day for each in pending]
    listed = files_about(open_journal(connection, files.root), days)
    urls = present(files, listed)
    rows = read_archived(spark, urls).where(_is_about(days)) if urls else spark.createDataFrame([], JOURNAL)
    return Days(
        pending,
        rows,
        are_large=sum(file.rows for file in listed) > LARGE_ROWS,
        known=lambda table: known_facts(spark, connection, files, table, days),
    )


def _is_about(days: Sequence[date]) -> Column:
    return F.to_date("ended_at").isin(*days) | F.to_date("posted_at").isin(*days)


def _count_bad(rows: DataFrame, faults: dict[str, int]) -> None:
    for fault in bad_rows(rows).collect():
        faults[fault["fault"]] = faults.get(fault["fault"], 0) + fault["count"]


def _groups(pending: Sequence[Pending]) -> Iterator[Sequence[Pending]]:
    for start in range(0, len(pending), DAYS_AT_ONCE):
        yield pending[start : start + DAYS_AT_ONCE]
