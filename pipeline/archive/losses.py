"""Files that count and are gone, because somebody deleted them: archived again where the journal has their days."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from pipeline.archive.files import Files
from pipeline.archive.parts import days_changed
from pipeline.database import Connection
from pipeline.errors import PipelineError

IN_STATE = "SELECT path, staged, day, rows FROM willow_archive_parts WHERE state = %s ORDER BY path"

FORGET = """
    UPDATE willow_archive_parts SET state = 'retired' WHERE path = ANY (%s)
    RETURNING day, (posted_from AT TIME ZONE 'UTC')::date, (posted_to AT TIME ZONE 'UTC')::date
"""


@dataclass(frozen=True)
class Loss:
    path: str
    url: str
    day: date
    rows: int


def lost_before_placed(connection: Connection, files: Files) -> list[Loss]:
    """Files that were lost between the commit that let them count and the move to their places."""
    parts = connection.execute(IN_STATE, ["committed"]).fetchall()
    return [
        Loss(path, files.url(staged), day, rows)
        for path, staged, day, rows in parts
        if not files.exists(path) and not files.exists(staged)
    ]


def lost_in_place(connection: Connection, files: Files) -> list[Loss]:
    parts = connection.execute(IN_STATE, ["placed"]).fetchall()
    return [Loss(path, files.url(path), day, rows) for path, _, day, rows in parts if not files.exists(path)]


def refuse_losses(losses: Sequence[Loss]) -> None:
    """For losses that no journal makes good."""
    if not losses:
        return
    more = f" and {len(losses) - 1} more files" if len(losses) > 1 else ""
    rows = sum(loss.rows for loss in losses)
    raise PipelineError(
        f"The archive lacks {losses[0].url}{more}, and the journal no longer has the days (rows: {rows}).",
        "Put it back; or `./willow pipeline backfill --forget-lost` goes on without it, and keeps the other files.",
    )


def forget_losses(connection: Connection, losses: Sequence[Loss]) -> None:
    """Let the files count no more; the facts of all days that they may have had rows of are computed again."""
    with connection.transaction():
        forgotten = connection.execute(FORGET, [[loss.path for loss in losses]]).fetchall()
        posted = {day for _, first, last in forgotten for day in _days_between(first, last)}
        days_changed(connection, [day for day, _, _ in forgotten], posted)


def _days_between(first: date, last: date) -> Iterable[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))
