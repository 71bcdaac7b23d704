"""Following the journal: one warm session that archives every few seconds, and keeps the newest minutes' facts fresh.

It begins as a run does, with everything. Then each step archives what is settled, and computes only the minutes that
got rows. Now and then everything is done again, in a thread of its own, so that minutes don't wait while hours and days
are computed. The days stay pending until then, so a kill loses nothing.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.archive.appending import append_settled
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal, present
from pipeline.archive.offset import read_offset
from pipeline.archive.staging import Written, read_archived
from pipeline.beside import Beside
from pipeline.database import Connection, connect, sole_run
from pipeline.facts.catalogue import FACTS
from pipeline.facts.sorting import good_rows
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.reading.journal import conformed
from pipeline.round import Round
from pipeline.run import everything
from pipeline.runs import Run, recorded
from pipeline.session import share_of
from pipeline.writing.merging import drop_staging, merge_minutes, stage_facts

NEWEST = timedelta(minutes=5)  # rows of older minutes, which are late, wait until hours and days are computed
ROUND_SHARE = 10  # everything is done again after ten times as long as it took, or later
PAUSE_SECONDS = 0.1  # after each step at least: whoever waits for `commits` gets it then
TIMED = [(replace(table, staged_as="_now"), transform) for table, transform in FACTS if "grain" in table.columns]


def follow(
    spark: SparkSession,
    options: Options,
    *,
    every: float,
    round_seconds: float,
    stopping: threading.Event,
    progress: Progress,
) -> None:
    """Until it is told to stop. `every` and `round_seconds` are seconds from the beginning of a step to the next."""
    beside = Beside()
    with connect(options.database_url) as connection, sole_run(connection):
        with recorded(connection, "follow", options) as record:
            begun = time.monotonic()
            everything(spark, connection, options, record, progress)
            took = time.monotonic() - begun
            progress.say(f"Everything is up to date after {took:.0f} s; following.")
            share_of(spark, "minutes")
            until = begun + max(round_seconds, took * ROUND_SHARE)
            _steps(spark, connection, options, record, every, until, stopping, beside)
        while not stopping.is_set():
            with recorded(connection, "follow", options) as record:
                record.tx_from = record.tx_to = _offset(connection)
                begun = time.monotonic()
                with Round(spark, options, record, progress, beside) as whole:
                    while whole.is_alive() and not stopping.is_set():
                        _steps(spark, connection, options, record, every, time.monotonic() + every, stopping, beside)
                took = time.monotonic() - begun
                until = begun + max(round_seconds, took * ROUND_SHARE)
                _steps(spark, connection, options, record, every, until, stopping, beside)


def _offset(connection: Connection) -> int:
    offset = read_offset(connection)
    assert offset is not None  # everything was done before
    return offset.next_tx


def _steps(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    record: Run,
    every: float,
    until: float,
    stopping: threading.Event,
    beside: Beside,
) -> None:
    while not stopping.is_set() and time.monotonic() < until:
        begun = time.monotonic()
        with beside.commits:
            beside.fresh.update(step(spark, connection, options, record))
        stopping.wait(max(PAUSE_SECONDS, min(begun + every, until) - time.monotonic()))


def step(spark: SparkSession, connection: Connection, options: Options, record: Run) -> list[datetime]:
    """Archive what is settled, and compute the newest minutes that it changed; return these."""
    minutes: set[datetime] = set()

    def archived(written: Written, _: int) -> None:
        record.rows += written.rows
        record.bytes += written.bytes
        minutes.update(written.minutes)

    assert record.tx_to is not None
    with record.step("archive"):
        record.tx_to = append_settled(spark, connection, options, first=record.tx_to, archived=archived)
    if not minutes:
        return []
    changed = newest(minutes)
    with record.step("minutes"):
        record.facts += compute_minutes(spark, connection, options, changed)
    return changed


def newest(minutes: Iterable[datetime]) -> list[datetime]:
    ordered = sorted(minutes)
    return [minute for minute in ordered if minute > ordered[-1] - NEWEST]


def compute_minutes(spark: SparkSession, connection: Connection, options: Options, minutes: list[datetime]) -> int:
    """Replace the facts of these minutes in PostgreSQL. What was posted in one of them has not ended before it."""
    journal = open_journal(connection, options.archive)
    recent = [file for file in journal.files() if journal.span(file, "ended_at")[1] >= minutes[0]]
    archived = read_archived(spark, present(Files(spark, options.archive), recent))
    rows = good_rows(archived.where(F.col("ended_at") >= F.lit(minutes[0])))
    for table, transform in TIMED:
        facts = transform(rows).where((F.col("grain") == "minute") & F.col("bucket").isin(*minutes))
        stage_facts(connection, options, table, conformed(facts, table.schema, f"The facts for {table.name}"))
    with connection.transaction():
        written = sum(merge_minutes(connection, table, minutes) for table, _ in TIMED)
    for table, _ in TIMED:
        drop_staging(connection, table)
    return written
