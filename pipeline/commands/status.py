"""`./willow pipeline status`: how far the archive is, what is missing, and how the last runs ended. Needs no Spark."""

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.archive.journal_table import NAME as JOURNAL
from pipeline.archive.journal_table import open_journal
from pipeline.database import Connection, connect, fingerprint, horizon, next_transaction
from pipeline.driver import find_driver
from pipeline.errors import PipelineError
from pipeline.java import find_java
from pipeline.lake.catalog import pointers
from pipeline.options import Options, options_from

LAST_RUNS = 5

DAYS = """
    SELECT (SELECT count(*) FROM willow_archive_days), (SELECT count(*) FROM willow_pending_days)
"""
RUNS = """
    SELECT to_char(started_at, 'YYYY-MM-DD HH24:MI:SS'), command, state, rows, facts,
           extract(epoch FROM coalesce(ended_at, now()) - started_at)::float8, error
    FROM willow_pipeline_runs ORDER BY id DESC LIMIT %s
"""
OLDEST_SNAPSHOT = """
    SELECT application_name, extract(epoch FROM now() - xact_start)::float8 FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()
    ORDER BY age(backend_xmin) DESC LIMIT 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # it takes none


def main(arguments: argparse.Namespace) -> int:
    options = options_from(os.environ)
    for line in machine_lines(options):
        print(line)
    with connect(options.database_url) as connection:
        for line in (*offset_lines(connection, options), *archive_lines(connection, options), *run_lines(connection)):
            print(line)
    return 0


def machine_lines(options: Options) -> Iterator[str]:
    yield f"Spark        {options.master}"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            yield f"Java         {find_java(os.environ, Path(scratch)).about}"
        except PipelineError as error:
            yield f"Java         {error}"
    try:
        yield f"JDBC driver  {find_driver(os.environ).about}"
    except PipelineError as error:
        yield f"JDBC driver  {error}"


def offset_lines(connection: Connection, options: Options) -> Iterator[str]:
    row = connection.execute(
        "SELECT next_tx, database, archive, to_char(moved_at, 'YYYY-MM-DD HH24:MI:SS') FROM willow_pipeline_offset"
    ).fetchone()
    if row is None:
        yield "Offset       nothing has been archived yet"
        return
    next_tx, database, archive, moved_at = row
    yield f"Archive      {archive}"
    if archive != options.archive:
        yield f"             but WILLOW_PIPELINE_ARCHIVE says {options.archive}"
    yield f"Offset       transaction {next_tx} of {horizon(connection)}, moved at {moved_at} UTC"
    if database != fingerprint(connection):
        yield "             of another database, so this one was restored; run `./willow pipeline backfill`"
    elif next_tx > next_transaction(connection):
        yield "             which this server has not come to: nothing would be read; run `./willow pipeline backfill`"
    oldest = connection.execute(OLDEST_SNAPSHOT).fetchone()
    if oldest and oldest[1] is not None:
        yield f"Snapshot     the oldest is {oldest[1]:.0f} s old, of {oldest[0] or 'a program without a name'}"


def archive_lines(connection: Connection, options: Options) -> Iterator[str]:
    row = connection.execute(DAYS).fetchone()
    assert row is not None
    if JOURNAL in pointers(connection):
        yield from _file_lines(connection, options)
    yield f"Days         {row[0]} compared with the journal, {row[1]} whose facts must be computed again"


def _file_lines(connection: Connection, options: Options) -> Iterator[str]:
    try:
        files = open_journal(connection, options.archive).files()
    except PipelineError as error:
        yield f"Files        {error}"
        return
    if files:
        rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
        days = sorted(file.day for file in files)
        yield f"Files        {len(files):,} with {rows:,} rows, {size / 1024**2:,.1f} MiB, from {days[0]} to {days[-1]}"


def run_lines(connection: Connection) -> Iterator[str]:
    for started, command, state, rows, facts, seconds, error in connection.execute(RUNS, [LAST_RUNS]).fetchall():
        yield f"{started}  {command} {state}: {rows:,} rows, {facts:,} facts in {seconds:.0f} s"
        if error:
            yield f"             {error}"
