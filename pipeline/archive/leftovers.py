"""What lies in the archive and counts for nobody: written down before the first byte, so that nothing is forgotten.

A folder is announced before a run writes into it, and is a leftover until the commit that makes its files count takes
it off the list. Files that count no more are put on the list by the commit that retires them. A sweep deletes what is
on the list; a killed run's, too.
"""

from collections.abc import Sequence

from pipeline.archive.files import Files
from pipeline.database import Connection

ADD = "INSERT INTO willow_archive_leftovers (path) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"


def announce(connection: Connection, path: str) -> None:
    """To be called before anything is written there."""
    connection.execute(ADD, [[path]])


def let_count(connection: Connection, paths: Sequence[str]) -> None:
    """To be called in the transaction in which what was written there begins to count."""
    connection.execute("DELETE FROM willow_archive_leftovers WHERE path = ANY (%s)", [list(paths)])


def retire(connection: Connection, paths: Sequence[str]) -> None:
    """To be called in the transaction after which no snapshot has these files."""
    connection.execute(ADD, [list(paths)])


def sweep(connection: Connection, files: Files) -> None:
    """Only for whoever is the sole run: what another run is writing would be on the list."""
    for (path,) in connection.execute("SELECT path FROM willow_archive_leftovers ORDER BY path").fetchall():
        files.delete(path)
        connection.execute("DELETE FROM willow_archive_leftovers WHERE path = %s", [path])
