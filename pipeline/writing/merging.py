"""Staging tables and the merge that replaces days of facts."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from psycopg import sql
from pyspark.sql import DataFrame

from pipeline.database import Connection, jdbc_options
from pipeline.options import Options
from pipeline.writing.tables import JSON_COLUMNS, STAGING, Table

MINUTES = sql.SQL("grain = 'minute' AND bucket >= %(since)s::timestamptz")


def stage_facts(connection: Connection, options: Options, table: Table, facts: DataFrame) -> None:
    make_staging(connection, table)
    refill_staging(options, table, facts)


def make_staging(connection: Connection, table: Table) -> None:
    """A fresh UNLOGGED table: what is there only until the merge needs no write-ahead log."""
    columns = sql.SQL(", ").join(
        sql.SQL("{0}::text AS {0}" if column in JSON_COLUMNS else "{0}").format(sql.Identifier(column))
        for column in table.columns
    )
    drop_staging(connection, table)
    connection.execute(
        sql.SQL("CREATE UNLOGGED TABLE {} AS SELECT {} FROM {} WITH NO DATA").format(
            sql.Identifier(table.staging), columns, sql.Identifier(table.name)
        )
    )


def refill_staging(options: Options, table: Table, facts: DataFrame) -> None:
    """Let the staging table have these facts only."""
    writer = facts.select(*table.columns).write.format("jdbc").mode("overwrite").option("truncate", True)
    writer.options(**jdbc_options(options.database_url), dbtable=table.staging).save()


def merge_days(
    connection: Connection,
    table: Table,
    days: Sequence[date],
    *,
    fresh_since: datetime | None = None,
    is_whole: bool = True,
) -> int:
    """Replace what the table has of the days by what was staged; rows that stay the same are not written again.

    Minutes from `fresh_since` on stay as they are. So does what was not staged, if that is not the whole of the days.
    """
    meant: sql.Composable = sql.SQL("{} = ANY (%(these)s::date[])").format(sql.SQL(table.day))
    if fresh_since and "grain" in table.columns:
        meant += sql.SQL(" AND NOT ({})").format(MINUTES)
    return _merge(connection, table, meant, {"these": list(days), "since": fresh_since}, is_whole=is_whole)


def merge_minutes(connection: Connection, table: Table, since: datetime) -> int:
    """As `merge_days`, for the minutes from that one on, and not for the hours and days that they are in."""
    return _merge(connection, table, MINUTES, {"since": since})


def _merge(
    connection: Connection, table: Table, meant: sql.Composable, those: dict[str, Any], *, is_whole: bool = True
) -> int:
    """Of what was staged, only what is meant counts."""
    staging = sql.Identifier(table.staging)
    connection.execute(sql.SQL("DELETE FROM {} WHERE NOT ({})").format(staging, meant), those)
    staged = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(staging)).fetchone()
    if is_whole:
        connection.execute(_delete_gone(table, meant), those)
    connection.execute(_upsert(table))
    return int(staged[0]) if staged else 0


def replace_all(connection: Connection, table: Table) -> None:
    """Replace the whole of a small table by what was staged."""
    with connection.transaction():
        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table.name)))
        connection.execute(_insert(table))
    drop_staging(connection, table)


def drop_staging(connection: Connection, table: Table) -> None:
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table.staging)))


def drop_leftovers(connection: Connection) -> None:
    """The staging tables of a run that was killed: no other run is under way."""
    found = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, %s)", [STAGING]
    ).fetchall()
    for (name,) in found:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))


def _delete_gone(table: Table, meant: sql.Composable) -> sql.Composed:
    same = sql.SQL(" AND ").join(sql.SQL("s.{0} = t.{0}").format(sql.Identifier(column)) for column in table.key)
    return sql.SQL("DELETE FROM {} t WHERE {} AND NOT EXISTS (SELECT FROM {} s WHERE {})").format(
        sql.Identifier(table.name), meant, sql.Identifier(table.staging), same
    )


def _insert(table: Table) -> sql.Composed:
    names = [sql.Identifier(column) for column in table.columns]
    values = [
        sql.SQL("{}::jsonb" if column in JSON_COLUMNS else "{}").format(sql.Identifier(column))
        for column in table.columns
    ]
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
        sql.Identifier(table.name), sql.SQL(", ").join(names), sql.SQL(", ").join(values), sql.Identifier(table.staging)
    )


def _upsert(table: Table) -> sql.Composed:
    changing = [sql.Identifier(column) for column in table.columns if column not in table.key]
    columns = sql.SQL(", ")
    return _insert(table) + sql.SQL(
        " ON CONFLICT ({}) DO UPDATE SET ({}) = ROW ({}) WHERE ROW ({}) IS DISTINCT FROM ROW ({})"
    ).format(
        columns.join(sql.Identifier(column) for column in table.key),
        columns.join(changing),
        columns.join(sql.SQL("excluded.{}").format(name) for name in changing),
        columns.join(sql.SQL("{}.{}").format(sql.Identifier(table.name), name) for name in changing),
        columns.join(sql.SQL("excluded.{}").format(name) for name in changing),
    )
