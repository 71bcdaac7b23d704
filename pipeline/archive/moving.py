"""An archive that is not where its tables say, or not as far: after a move, and after a restore."""

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from pipeline.archive.files import Files
from pipeline.archive.journal_table import NAME, open_journal
from pipeline.archive.offset import mark_pending
from pipeline.database import Connection
from pipeline.errors import PipelineError
from pipeline.lake.catalog import PreparingCatalog, forget_tables, point, pointers
from pipeline.lake.history import metadata_left
from pipeline.lake.table import LakeTable
from pipeline.options import Options


class MovedFiles(PyArrowFileIO):
    """Finds files in their new place by the addresses that they had in the old one."""

    def __init__(self, before: str, now: str) -> None:
        super().__init__()
        self._before, self._now = before, now

    def new_input(self, location: str) -> PyArrowFile:
        return super().new_input(location.replace(self._before, self._now, 1))


def find_metadata(connection: Connection, files: Files) -> None:
    """In a restored database: point at the last metadata that is left, where what it points at is gone."""
    for name, location in pointers(connection).items():
        left = metadata_left(files, location, files.root)
        if left and files.url(left) != location:
            point(connection, name, files.url(left))


def take_over_moved(connection: Connection, files: Files, options: Options, before: str) -> None:
    """Make tables of the files here, which were elsewhere. All facts are computed again."""
    known = pointers(connection)
    if NAME in known:
        left = metadata_left(files, known[NAME], before)
        if left is None:
            raise PipelineError(
                f"{options.archive} has no list of the archive's files.", f"Move all of {before} there, and run again."
            )
        urls = _urls(connection, files, left, before)
    with connection.transaction():
        forget_tables(connection, known)
        connection.execute("UPDATE willow_pipeline_offset SET archive = %s", [options.archive])
        if NAME in known:
            journal = open_journal(connection, options.archive)
            move = journal.prepare(add=urls)
            if move:
                move.make(connection)
            mark_pending(connection, [file.day for file in open_journal(connection, options.archive).files()])
    files.delete("facts")


def _urls(connection: Connection, files: Files, metadata: str, before: str) -> list[str]:
    catalog = PreparingCatalog(connection)
    table = catalog.table_at(NAME, files.url(metadata))
    table.io = MovedFiles(before, files.root)
    return [file.url.replace(before, files.root, 1) for file in LakeTable(table, catalog, connection).files()]
