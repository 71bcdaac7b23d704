"""One run from end to end: archive what is settled, compute what changed, compare, compact, judge the health."""

from datetime import date

from pyspark.sql import SparkSession

from pipeline.archive.appending import append_settled
from pipeline.archive.backfilling import archive_days_again
from pipeline.archive.compaction import compact_days
from pipeline.archive.files import Files
from pipeline.archive.losses import forget_losses, lost_before_placed, lost_in_place, refuse_losses
from pipeline.archive.parts import Offset, begin_offset, mark_pending, read_offset, roll_forward
from pipeline.archive.strays import set_strays_aside
from pipeline.archive.verification import journal_days, verify_days
from pipeline.computing import compute_pending
from pipeline.database import (
    Connection,
    bound_statements,
    connect,
    fingerprint,
    horizon,
    next_transaction,
    sole_run,
    value,
)
from pipeline.errors import PipelineError
from pipeline.health import write_findings
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.runs import Run, recorded
from pipeline.writing.merging import drop_leftovers

ARCHIVED_DAYS = """
    SELECT DISTINCT day FROM willow_archive_parts
    WHERE state <> 'retired' AND day >= coalesce(%s, day) AND day <= coalesce(%s, day)
"""


def run(
    spark: SparkSession,
    options: Options,
    *,
    since: date | None = None,
    until: date | None = None,
    progress: Progress | None = None,
) -> Run:
    """Archive and compute what is new. With `since` or `until`, compute the facts of those days again as well."""
    progress = progress or Progress()
    with connect(options.database_url) as connection, sole_run(connection), recorded(connection, "run") as record:
        drop_leftovers(connection)
        offset = _known_offset(connection, options)
        roll_forward(connection, Files(spark, options.archive))
        _append(spark, connection, options, offset, record, progress)
        if since or until:
            days = connection.execute(ARCHIVED_DAYS, [since, until]).fetchall()
            mark_pending(connection, [day for (day,) in days])
        _finish(spark, connection, options, record, progress)
        return record


def backfill(
    spark: SparkSession,
    options: Options,
    *,
    since: date | None = None,
    until: date | None = None,
    forget_lost: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Archive the days that the journal still has again, and compute their facts again.

    In a database that was restored, all of its days are taken, and the offset starts anew. With `forget_lost`, files
    that are gone and whose days the journal no longer has count no more.
    """
    progress = progress or Progress()
    with connect(options.database_url) as connection, sole_run(connection), recorded(connection, "backfill") as record:
        drop_leftovers(connection)
        offset = read_offset(connection) or begin_offset(connection, fingerprint(connection), options.archive)
        days = journal_days(connection)
        restored = offset.database != fingerprint(connection) or offset.next_tx > next_transaction(connection)
        if restored:
            since = until = None
            _settle(connection, days, progress)
        past = horizon(connection) if restored else offset.next_tx
        mended = _mend(spark, connection, options, record, past, forget_lost=forget_lost)
        _set_strays_aside(connection, Files(spark, options.archive), progress)
        chosen = [day for day in days if (since or day) <= day <= (until or day) and day not in mended]
        for number, day in enumerate(chosen, start=1):
            record.rows += archive_days_again(spark, connection, options, [day], past)
            progress.step("Archiving days again", number, len(chosen))
        if restored or offset.archive != options.archive:
            _restart_offset(connection, options, past)
        _append(spark, connection, options, _known_offset(connection, options), record, progress)
        _finish(spark, connection, options, record, progress)
        return record


def _mend(
    spark: SparkSession, connection: Connection, options: Options, record: Run, past: int, *, forget_lost: bool
) -> list[date]:
    """Roll forward, though files are gone: archive their days again, all in one commit; return these days."""
    files = Files(spark, options.archive)
    days = set(journal_days(connection))
    losses = lost_before_placed(connection, files)
    mended = sorted({loss.day for loss in losses} & days)
    for_good = [loss for loss in losses if loss.day not in days]
    if forget_lost:
        for_good += [loss for loss in lost_in_place(connection, files) if loss.day not in days]
        forget_losses(connection, for_good)
    else:
        refuse_losses(for_good)
    if mended:
        record.rows += archive_days_again(spark, connection, options, mended, past)
    else:
        roll_forward(connection, files)
    return mended


def _set_strays_aside(connection: Connection, files: Files, progress: Progress) -> None:
    strays, folder = set_strays_aside(connection, files)
    if strays:
        progress.say(f"Files that this database does not list ({strays}) are now in {folder}.")


def _known_offset(connection: Connection, options: Options) -> Offset:
    """The offset, if it belongs to this database and this archive."""
    database = fingerprint(connection)
    offset = read_offset(connection) or begin_offset(connection, database, options.archive)
    if offset.database != database:
        raise PipelineError(
            f"The archive was read from another database ({offset.database}) than this one ({database}): it was "
            "restored, or recovered to an earlier time.",
            "`./willow pipeline backfill` archives the days of this database again, and keeps all older days.",
        )
    if offset.next_tx > next_transaction(connection):
        raise PipelineError(
            f"The offset is transaction {offset.next_tx}, but this server has come no further than "
            f"{next_transaction(connection)}: nothing new would ever be read.",
            "`./willow pipeline backfill` archives the days of this database again, and sets the offset right.",
        )
    if offset.archive != options.archive:
        raise PipelineError(
            f"The archive is at {offset.archive}, but WILLOW_PIPELINE_ARCHIVE says {options.archive}.",
            "Set it back; or move the files there, and then run `./willow pipeline backfill`.",
        )
    return offset


def _restart_offset(connection: Connection, options: Options, past: int) -> None:
    connection.execute(
        "UPDATE willow_pipeline_offset SET next_tx = %s, database = %s, archive = %s, moved_at = now()",
        [past, fingerprint(connection), options.archive],
    )


def _settle(connection: Connection, days: list[date], progress: Progress) -> None:
    """Rows of a restored journal carry transactions of another server: mark them as settled."""
    connection.execute("SET statement_timeout = 0")  # writes a day anew; holds no lock that a broker waits for
    for number, day in enumerate(days, start=1):
        value(connection, "SELECT willow_journal_settle_restored(%s)", day)
        progress.step("Settling restored days", number, len(days))
    bound_statements(connection)


def _append(
    spark: SparkSession, connection: Connection, options: Options, offset: Offset, record: Run, progress: Progress
) -> None:
    first, past = offset.next_tx, horizon(connection)
    record.tx_from = first

    def archived(rows: int, next_tx: int) -> None:
        record.rows += rows
        progress.step(f"Archiving ({record.rows:,} rows)", next_tx - first, past - first)

    record.tx_to = append_settled(spark, connection, options, first=first, archived=archived)


def _finish(spark: SparkSession, connection: Connection, options: Options, record: Run, progress: Progress) -> None:
    compute_pending(spark, connection, options, record, progress)
    today = value(connection, "SELECT (now() AT TIME ZONE 'UTC')::date")
    assert record.tx_to is not None
    record.verified, wrong = verify_days(spark, connection, options, offset=record.tx_to, today=today)
    record.compacted = compact_days(spark, connection, options)
    record.findings = write_findings(spark, connection, options)
    if wrong:
        raise PipelineError(" ".join(wrong))
