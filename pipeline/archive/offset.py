"""How far the journal has been archived, and which days need new facts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from pipeline.database import Connection
from pipeline.errors import PipelineError


@dataclass(frozen=True)
class Offset:
    next_tx: int
    database: str
    archive: str


# Without a transaction, all of a day has changed: what was known about it before is of no use.
MARK_PENDING = """
    INSERT INTO willow_pending_days AS pending (day, posted_only, since_tx)
    SELECT unnest(%s::date[]), %s, %s
    ON CONFLICT (day) DO UPDATE SET
        posted_only = pending.posted_only AND excluded.posted_only,
        since_tx = CASE WHEN excluded.since_tx >= pending.since_tx THEN pending.since_tx
                        WHEN pending.since_tx > excluded.since_tx THEN excluded.since_tx END
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


def days_changed(
    connection: Connection, days: Iterable[date], posted_days: Iterable[date], since_tx: int | None = None
) -> None:
    """Days have other rows than before: they must be compared again, and theirs and the posters' facts computed.

    With `since_tx`, they have all rows that they had, and new ones of transactions from this one on.
    """
    changed = sorted(set(days))
    connection.execute("DELETE FROM willow_archive_days WHERE day = ANY (%s)", [changed])
    mark_pending(connection, changed, since_tx=since_tx)
    mark_pending(connection, posted_days, posted_only=True, since_tx=since_tx)


def mark_pending(
    connection: Connection, days: Iterable[date], *, posted_only: bool = False, since_tx: int | None = None
) -> None:
    """With `posted_only`, nothing has changed but that messages which were posted on these days have ended."""
    connection.execute(MARK_PENDING, [sorted(set(days)), posted_only, since_tx])
