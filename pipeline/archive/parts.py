"""The account of the archive in PostgreSQL: which files count, how far the offset is, which days need new facts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from pipeline.archive.files import Files
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.schemas import JOURNAL_VERSION

STAGING = "_staging"  # Spark and others skip folders that begin with an underscore


@dataclass(frozen=True)
class Part:
    """A file, and what is in it."""

    path: str
    staged: str
    day: date
    rows: int
    checksum: Decimal
    bytes: int
    posted_from: datetime
    posted_to: datetime
    tx_from: int
    tx_to: int


@dataclass(frozen=True)
class Offset:
    next_tx: int
    database: str
    archive: str


ADD = f"""
    INSERT INTO willow_archive_parts (path, staged, day, state, rows, checksum, bytes, posted_from, posted_to,
                                      tx_from, tx_to, schema_version)
    VALUES (%s, %s, %s, 'committed', %s, %s, %s, %s, %s, %s, %s, {JOURNAL_VERSION})
"""

MARK_PENDING = """
    INSERT INTO willow_pending_days (day)
    SELECT unnest(%s::date[])
    ON CONFLICT DO NOTHING
"""


def read_offset(connection: Connection) -> Offset | None:
    row = connection.execute("SELECT next_tx, database, archive FROM willow_pipeline_offset").fetchone()
    return Offset(*row) if row else None


def begin_offset(connection: Connection, database: str, archive: str) -> Offset:
    connection.execute(
        "INSERT INTO willow_pipeline_offset (id, next_tx, database, archive) VALUES (1, 0, %s, %s)", [database, archive]
    )
    return Offset(0, database, archive)


def move_offset(connection: Connection, *, expected: int, to: int) -> None:
    """Guarded: only whoever read the rows before may say that they are archived."""
    moved = connection.execute(
        "UPDATE willow_pipeline_offset SET next_tx = %s, moved_at = now() WHERE next_tx = %s", [to, expected]
    )
    if moved.rowcount != 1:
        raise PipelineError(
            "Another run has moved the pipeline's offset in the meantime; nothing was lost.", "Run again."
        )


def add_parts(connection: Connection, parts: Sequence[Part]) -> None:
    """Let files count from now on. To be called in the transaction that moves the offset or retires older files."""
    rows = [
        (
            part.path,
            part.staged,
            part.day,
            part.rows,
            part.checksum,
            part.bytes,
            part.posted_from,
            part.posted_to,
            part.tx_from,
            part.tx_to,
        )
        for part in parts
    ]
    with connection.cursor() as cursor:
        cursor.executemany(ADD, rows)


def days_changed(connection: Connection, days: Iterable[date], posted_days: Iterable[date]) -> None:
    """Days have other rows than before: they must be compared again, and theirs and the posters' facts computed."""
    changed = sorted(set(days))
    connection.execute("DELETE FROM willow_archive_days WHERE day = ANY (%s)", [changed])
    mark_pending(connection, [*changed, *posted_days])


def mark_pending(connection: Connection, days: Iterable[date]) -> None:
    connection.execute(MARK_PENDING, [sorted(set(days))])


def retire_day(connection: Connection, day: date) -> None:
    connection.execute("UPDATE willow_archive_parts SET state = 'retired' WHERE day = %s AND state <> 'retired'", [day])


def roll_forward(connection: Connection, files: Files) -> None:
    """Do what the last commit left to do: move new files to their places, delete retired ones, sweep the rest."""
    unplaced = connection.execute(
        "SELECT path, staged, day FROM willow_archive_parts WHERE state = 'committed'"
    ).fetchall()
    for path, staged, day in unplaced:
        if not files.exists(path):
            _place(files, staged, path, day)
        connection.execute(
            "UPDATE willow_archive_parts SET state = 'placed' WHERE path = %s AND state = 'committed'", [path]
        )
    for (path,) in connection.execute("SELECT path FROM willow_archive_parts WHERE state = 'retired'").fetchall():
        files.delete(path)
        connection.execute("DELETE FROM willow_archive_parts WHERE path = %s", [path])
    files.delete(STAGING)


def _place(files: Files, staged: str, path: str, day: date) -> None:
    if not files.exists(staged):
        raise PipelineError(
            f"The archive lacks {files.url(staged)}, which has rows of {day} and was not yet moved to its place.",
            "`./willow pipeline backfill` archives the day again.",
        )
    files.move(staged, path)


def paths_of_day(connection: Connection, day: date) -> list[str]:
    query = "SELECT path FROM willow_archive_parts WHERE day = %s AND state <> 'retired' ORDER BY path"
    return [path for (path,) in connection.execute(query, [day]).fetchall()]


def paths_of_days(connection: Connection, days: Sequence[date]) -> list[str]:
    """The files that hold a row which ended or was posted on one of the days."""
    query = """
        SELECT path FROM willow_archive_parts p
        WHERE state <> 'retired' AND (day = ANY (%(days)s::date[]) OR EXISTS (
            SELECT FROM unnest(%(days)s::date[]) AS posted
            WHERE posted BETWEEN (p.posted_from AT TIME ZONE 'UTC')::date AND (p.posted_to AT TIME ZONE 'UTC')::date
        ))
        ORDER BY path
    """
    return [path for (path,) in connection.execute(query, {"days": list(days)}).fetchall()]


def present(files: Files, paths: Sequence[str]) -> list[str]:
    """The URLs of the files, all of which must be there."""
    missing = [path for path in paths if not files.exists(path)]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise PipelineError(
            f"The archive lacks {files.url(missing[0])}{more}.",
            "Bring the archive back from its backup; days that the journal still has are archived again by "
            "`./willow pipeline backfill`, and `backfill --forget-lost` goes on without what neither of them has.",
        )
    return [files.url(path) for path in paths]
