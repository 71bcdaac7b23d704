"""Replacing days of facts everywhere at once: in the Iceberg tables and in PostgreSQL, in one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.leftovers import let_count
from pipeline.archive.staging import write_by_day
from pipeline.beside import Beside
from pipeline.database import Connection
from pipeline.lake.catalog import PointerMove
from pipeline.lake.table import LakeTable, open_table, place_of
from pipeline.options import Options
from pipeline.reading.journal import conformed
from pipeline.writing.merging import drop_staging, merge_days, stage_facts
from pipeline.writing.tables import Table

DONE = """
    DELETE FROM willow_pending_days p USING unnest(%s::date[], %s::text[]) AS done (day, mark)
    WHERE p.day = done.day AND p.xmin::text = done.mark
"""


def replace_days(
    connection: Connection,
    options: Options,
    files: Files,
    pending: Mapping[date, str],
    facts: Iterable[tuple[Table, DataFrame]],
    beside: Beside,
) -> int:
    """Let the facts be those of the days, which are no longer pending by their marks; return how many rows they are."""
    days = list(pending)
    tables, folders, moves = [], [], []
    for table, frame in facts:
        # Rows posted on these days may have ended on others, and the other way round: those days are not whole.
        whole = conformed(frame, table.schema, f"The facts for {table.name}").where(F.to_date(table.time).isin(*days))
        whole.persist()
        try:
            folder = write_by_day(connection, files, place_of(table.in_lake), whole.coalesce(1), table.time)
            stage_facts(connection, options, table, whole)
        finally:
            whole.unpersist()
        tables.append(table)
        folders.append(folder)
        moves.append(_replacement(connection, files, table, folder, days))
    with beside.commits, connection.transaction():
        written = sum(merge_days(connection, table, days, beside.fresh) for table in tables)
        for move in moves:
            if move:
                move.make(connection)
        let_count(connection, folders)
        connection.execute(DONE, [days, list(pending.values())])
    for table in tables:
        drop_staging(connection, table)
    return written


def open_lake(connection: Connection, archive: str, table: Table) -> LakeTable:
    return open_table(connection, archive, table.in_lake, table.schema, table.time)


def _replacement(
    connection: Connection, files: Files, table: Table, folder: str, days: Sequence[date]
) -> PointerMove | None:
    """The commit by which the days' files of facts give way to those in the folder."""
    lake = open_lake(connection, files.root, table)
    new = [files.url(path) for path in files.below(folder) if path.endswith(".parquet")]
    return lake.prepare(add=new, remove=lake.files_of(days))
