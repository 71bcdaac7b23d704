"""The journal's table of the archive, and which of its files have the rows of which days."""

from collections.abc import Sequence
from datetime import date

from pipeline.archive.files import Files
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.table import LakeTable, TableFile, open_table
from pipeline.schemas import JOURNAL

NAME = "journal"
# Properties of the table: the offset that the last commit moved to, and which database it belongs to.
NEXT_TX = "willow.next-tx"
DATABASE = "willow.database"


def open_journal(connection: Connection, archive: str) -> LakeTable:
    return open_table(connection, archive, NAME, JOURNAL, "ended_at")


def files_about(journal: LakeTable, days: Sequence[date]) -> list[TableFile]:
    """The files that hold a row which ended or was posted on one of the days."""
    return [file for file in journal.files() if file.day in days or _posted_on(journal, file, days)]


def _posted_on(journal: LakeTable, file: TableFile, days: Sequence[date]) -> bool:
    first, last = journal.span(file, "posted_at")
    return any(first.date() <= day <= last.date() for day in days)


def present(files: Files, wanted: Sequence[TableFile]) -> list[str]:
    """The URLs of the files, all of which must be there."""
    missing = [file for file in wanted if not files.exists(files.path(file.url))]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise PipelineError(
            f"The archive lacks {missing[0].url}{more}.",
            "Bring the archive back from its backup; days that the journal still has are archived again by "
            "`./willow pipeline backfill`, and `backfill --forget-lost` goes on without what neither of them has.",
        )
    return [file.url for file in wanted]
