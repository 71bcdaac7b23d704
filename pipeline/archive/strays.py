"""Files among those of the archive that the database does not list.

They come with a restore: a run after the dump has archived rows that the dump does not have, or archived them once
more. Whoever reads the folder as it is would read rows twice, or rows that never were. Nothing is deleted.
"""

import re
from datetime import UTC, date, datetime

from pipeline.archive.files import Files
from pipeline.archive.parts import mark_pending
from pipeline.database import Connection

ASIDE = "_aside"  # Spark and others skip folders that begin with an underscore
JOURNAL = "journal"
DAY = re.compile(r"day=([0-9]{4}-[0-9]{2}-[0-9]{2})")


def set_strays_aside(connection: Connection, files: Files) -> tuple[int, str]:
    """Move them out of the way; return how many there were, and the folder that has them now."""
    strays = _strays(connection, files)
    mark_pending(connection, strays.values())  # their facts may be there, too
    folder = f"{ASIDE}/{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for path in strays:
        files.move(path, f"{folder}/{path}")
    return len(strays), files.url(folder)


def _strays(connection: Connection, files: Files) -> dict[str, date]:
    listed = {path for (path,) in connection.execute("SELECT path FROM willow_archive_parts").fetchall()}
    return {
        path: date.fromisoformat(day[1])
        for folder in files.folders(JOURNAL)
        if (day := DAY.fullmatch(folder))
        for name in files.files(f"{JOURNAL}/{folder}")
        if (path := f"{JOURNAL}/{folder}/{name}") not in listed
    }
