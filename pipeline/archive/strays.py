"""Files among those of the archive that the database does not know.

They come with a restore: a run after the dump has archived rows that the dump does not have, or archived them once
more. No reader of the tables sees them. Nothing is deleted.
"""

import re
from datetime import UTC, date, datetime

from pipeline.archive.files import Files
from pipeline.archive.offset import mark_pending
from pipeline.archive.staging import DAY_FOLDER
from pipeline.database import Connection
from pipeline.lake.history import all_data_files
from pipeline.lake.table import LakeTable

ASIDE = "_aside"  # Spark and others skip folders that begin with an underscore
DAY = re.compile(rf"/{DAY_FOLDER}=([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/")


def set_strays_aside(connection: Connection, journal: LakeTable, files: Files) -> tuple[int, str]:
    """Move them out of the way; return how many there were, and the folder that has them now."""
    listed = {files.path(url) for url in all_data_files(journal)}
    strays = [path for path in files.below("journal/data") if path.endswith(".parquet") and path not in listed]
    mark_pending(connection, {date.fromisoformat(found[1]) for path in strays if (found := DAY.search(path))})
    folder = f"{ASIDE}/{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for path in strays:
        files.move(path, f"{folder}/{path}")
    return len(strays), files.url(folder)
