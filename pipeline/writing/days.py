"""Replacing days of facts everywhere at once: in the Iceberg tables and in PostgreSQL, in one transaction."""

from collections.abc import Iterable, Sequence
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.archive.files import Files
from pipeline.archive.journal_table import present
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

COMPUTE_AGAIN = "`./willow pipeline run --since {since} --until {until}` computes these facts again, from all rows."
DONE = "DELETE FROM willow_pending_days WHERE day = ANY (%s)"


def replace_days(
    connection: Connection,
    options: Options,
    files: Files,
    days: Sequence[date],
    facts: Iterable[tuple[Table, DataFrame]],
    beside: Beside,
    *,
    are_whole: bool = True,
) -> int:
    """Let the facts be those of the days, which are no longer pending; return how many rows they are.

    If they are not whole, all other facts of the days stay as they are.
    """
    tables, folders, moves = [], [], []
    for table, frame in facts:
        # Rows posted on these days may have ended on others, and the other way round: those days are not whole.
        new = conformed(frame, table.schema, f"The facts for {table.name}").where(F.to_date(table.time).isin(*days))
        new.persist()
        try:
            whole = new if are_whole else new.unionByName(_others(connection, files, table, days, new))
            folder = write_by_day(connection, files, place_of(table.in_lake), whole.coalesce(1), table.time)
            stage_facts(connection, options, table, new)
        finally:
            new.unpersist()
        tables.append(table)
        folders.append(folder)
        moves.append(_replacement(connection, files, table, folder, days))
    with beside.merging, connection.transaction():
        written = sum(
            merge_days(connection, table, days, fresh_since=beside.fresh_since, is_whole=are_whole) for table in tables
        )
        for move in moves:
            if move:
                move.make(connection)
        let_count(connection, folders)
        connection.execute(DONE, [days])
    for table in tables:
        drop_staging(connection, table)
    return written


def known_facts(
    spark: SparkSession, connection: Connection, files: Files, table: Table, days: Sequence[date]
) -> DataFrame:
    """What the table of the archive has of the days."""
    listed = open_lake(connection, files.root, table).files_of(days)
    urls = present(files, listed, COMPUTE_AGAIN.format(since=min(days), until=max(days)))
    return spark.read.schema(table.schema).parquet(*urls) if urls else spark.createDataFrame([], table.schema)


def _others(connection: Connection, files: Files, table: Table, days: Sequence[date], new: DataFrame) -> DataFrame:
    known = known_facts(new.sparkSession, connection, files, table, days)
    return known.join(F.broadcast(new.select(*table.key)), list(table.key), "left_anti")


def open_lake(connection: Connection, archive: str, table: Table) -> LakeTable:
    return open_table(connection, archive, table.in_lake, table.schema, table.time)


def _replacement(
    connection: Connection, files: Files, table: Table, folder: str, days: Sequence[date]
) -> PointerMove | None:
    """The commit by which the days' files of facts give way to those in the folder."""
    lake = open_lake(connection, files.root, table)
    new = [files.url(path) for path in files.below(folder) if path.endswith(".parquet")]
    return lake.prepare(add=new, remove=lake.files_of(days))
