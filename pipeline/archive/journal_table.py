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

MAKE_GOOD = (
    "Bring the archive back from its backup; days that the journal still has are archived again by "
    "`./willow pipeline backfill`, and `backfill --forget-lost` goes on without what neither of them has."
)


def open_journal(connection: Connection, archive: str) -> LakeTable:
    return open_table(connection, archive, NAME, JOURNAL, "ended_at")


def files_about(journal: LakeTable, days: Sequence[date]) -> list[TableFile]:
    """The files that hold a row which ended or was posted on one of the days."""
    return [file for file in journal.files() if file.day in days or _posted_on(journal, file, days)]


def _posted_on(journal: LakeTable, file: TableFile, days: Sequence[date]) -> bool:
    first, last = journal.span(file, "posted_at")
    return any(first.date() <= day <= last.date() for day in days)


def present(files: Files, wanted: Sequence[TableFile], remedy: str = MAKE_GOOD) -> list[str]:
    """The URLs of the files, all of which must be there as a whole: Spark takes an empty one for one without rows."""
    lengths = {file: files.length(files.path(file.url)) for file in wanted}
    wrong = [file for file, length in lengths.items() if length != file.bytes]
    if wrong:
        first, length = wrong[0], lengths[wrong[0]]
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        damage = "" if length is None else f" as a whole: it has {length} of {first.bytes} bytes"
        raise PipelineError(f"The archive lacks {first.url}{more}{damage}.", remedy)
    return [file.url for file in wanted]
