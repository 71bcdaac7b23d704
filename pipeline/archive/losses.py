"""Files that count and are gone, or not whole: archived again where the journal has their days."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from pipeline.archive.files import Files
from pipeline.archive.offset import days_changed
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.table import LakeTable, TableFile


def lost_files(journal: LakeTable, files: Files) -> list[TableFile]:
    return [file for file in journal.files() if files.length(files.path(file.url)) != file.bytes]


def refuse_losses(losses: Sequence[TableFile]) -> None:
    """For losses that no journal makes good."""
    if not losses:
        return
    more = f" and {len(losses) - 1} more files" if len(losses) > 1 else ""
    rows = sum(loss.rows for loss in losses)
    raise PipelineError(
        f"The archive lacks {losses[0].url}{more}, and the journal no longer has the days (rows: {rows}).",
        "Put it back; or `./willow pipeline backfill --forget-lost` goes on without it, and keeps the other files.",
    )


def forget_losses(connection: Connection, journal: LakeTable, losses: Sequence[TableFile]) -> None:
    """Let the files count no more; the facts of all days that they were about must be computed again."""
    move = journal.prepare(remove=losses)
    if move is None:
        return
    posted = (journal.span(loss, "posted_at") for loss in losses)
    with connection.transaction():
        move.make(connection)
        days_changed(
            connection,
            [loss.day for loss in losses],
            (day for first, last in posted for day in _days(first.date(), last.date())),
        )


def _days(first: date, last: date) -> Iterable[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))
