"""One run from end to end: archive what is settled, compute what changed, compare, compact, judge the health."""

from datetime import date

from pyspark.sql import SparkSession

from pipeline.archive.appending import append_settled
from pipeline.archive.backfilling import archive_days_again
from pipeline.archive.compaction import compact_days
from pipeline.archive.files import Files
from pipeline.archive.journal_table import DATABASE, NEXT_TX, open_journal
from pipeline.archive.leftovers import sweep
from pipeline.archive.losses import forget_losses, lost_files, refuse_losses
from pipeline.archive.moving import find_metadata, take_over_moved
from pipeline.archive.offset import Offset, begin_offset, mark_pending, read_offset
from pipeline.archive.staging import Written
from pipeline.archive.strays import set_strays_aside
from pipeline.archive.verification import journal_days, verify_days
from pipeline.beside import Beside
from pipeline.computing import compute_pending, open_facts
from pipeline.database import (
    Connection,
    connect,
    fingerprint,
    horizon,
    next_transaction,
    sole_run,
    value,
    without_bound,
)
from pipeline.erasing.erasing import after_archiving, before_archiving, prove
from pipeline.erasing.record import under_way
from pipeline.errors import PipelineError
from pipeline.health import write_findings
from pipeline.lake.history import forget_past
from pipeline.options import Options
from pipeline.progress import Progress
from pipeline.runs import Run, recorded
from pipeline.writing.merging import drop_leftovers


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
    with (
        connect(options.database_url) as connection,
        sole_run(connection),
        recorded(connection, "run", options) as record,
    ):
        drop_leftovers(connection)
        _begin(spark, connection, options, record, progress)
        if since or until:
            archived = {file.day for file in open_journal(connection, options.archive).files()}
            mark_pending(connection, [day for day in archived if (since or day) <= day <= (until or day)])
        _finish(spark, connection, options, record, progress, Beside())
        return record


def everything(
    spark: SparkSession,
    connection: Connection,
    options: Options,
    record: Run,
    progress: Progress,
    beside: Beside | None = None,
) -> None:
    """What a run does, for whoever holds the lock and writes the record."""
    beside = beside or Beside()
    _begin(spark, connection, options, record, progress)
    beside.archived()
    _finish(spark, connection, options, record, progress, beside)


def _begin(spark: SparkSession, connection: Connection, options: Options, record: Run, progress: Progress) -> None:
    """Delete files that a killed run left, and archive what is new."""
    offset = _known_offset(connection, options)
    sweep(connection, Files(spark, options.archive))
    with record.step("erase"):
        before_archiving(connection)
    _append(spark, connection, options, offset, record, progress)


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
    with (
        connect(options.database_url) as connection,
        sole_run(connection),
        recorded(connection, "backfill", options) as record,
    ):
        drop_leftovers(connection)
        offset = read_offset(connection) or begin_offset(connection, fingerprint(connection), options.archive)
        files = Files(spark, options.archive)
        if offset.archive != options.archive:
            take_over_moved(connection, files, options, offset.archive)
        days = journal_days(connection)
        restored = offset.database != fingerprint(connection)
        if restored:
            find_metadata(connection, files)
        anew = restored or _is_wrong(connection, options, offset)
        if anew:
            since = until = None
            _settle(connection, days, progress)
        past = horizon(connection) if anew else offset.next_tx
        sweep(connection, files)
        with record.step("erase"):
            before_archiving(connection)
        _give_up_losses(connection, files, options, set(days), forget_lost=forget_lost)
        _set_strays_aside(connection, files, options, progress)
        chosen = [day for day in days if (since or day) <= day <= (until or day)]
        for number, day in enumerate(chosen, start=1):
            record.rows += archive_days_again(spark, connection, options, [day], past)
            progress.step("Archiving days again", number, len(chosen))
        if anew:
            _restart_offset(connection, options, past)
        _append(spark, connection, options, _known_offset(connection, options), record, progress)
        _finish(spark, connection, options, record, progress, Beside())
        return record


def _give_up_losses(
    connection: Connection, files: Files, options: Options, kept: set[date], *, forget_lost: bool
) -> None:
    """Files that are gone, of days that the journal no longer has. All others are about to be made again."""
    journal = open_journal(connection, options.archive)
    for_good = [loss for loss in lost_files(journal, files) if loss.day not in kept]
    if forget_lost:
        forget_losses(connection, journal, for_good)
    else:
        refuse_losses(for_good)


def _set_strays_aside(connection: Connection, files: Files, options: Options, progress: Progress) -> None:
    strays, folder = set_strays_aside(connection, open_journal(connection, options.archive), files)
    if strays:
        progress.say(f"Files that this database does not know ({strays}) are now in {folder}.")


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
    archived = _archived_to(connection, options)
    if offset.next_tx < archived:
        raise PipelineError(
            f"The offset is transaction {offset.next_tx}, but the archive has all rows before transaction {archived}: "
            "some would be archived twice.",
            "`./willow pipeline backfill` archives the days of this database again, and sets the offset right.",
        )
    return offset


def _is_wrong(connection: Connection, options: Options, offset: Offset) -> bool:
    return not _archived_to(connection, options) <= offset.next_tx <= next_transaction(connection)


def _archived_to(connection: Connection, options: Options) -> int:
    """How far the archive itself says that it is, if it was this database that wrote it."""
    journal = open_journal(connection, options.archive)
    return int(journal.note(NEXT_TX) or 0) if journal.note(DATABASE) == fingerprint(connection) else 0


def _restart_offset(connection: Connection, options: Options, past: int) -> None:
    connection.execute(
        "UPDATE willow_pipeline_offset SET next_tx = %s, database = %s, archive = %s, moved_at = now()",
        [past, fingerprint(connection), options.archive],
    )


def _settle(connection: Connection, days: list[date], progress: Progress) -> None:
    """Rows of a restored journal carry transactions of another server: mark them as settled."""
    with without_bound(connection):
        for number, day in enumerate(days, start=1):
            value(connection, "SELECT willow_journal_settle_restored(%s)", day)
            progress.step("Settling restored days", number, len(days))


def _append(
    spark: SparkSession, connection: Connection, options: Options, offset: Offset, record: Run, progress: Progress
) -> None:
    """Archive what is settled; of what is to be erased, nothing is left in the archive then."""
    first, past = offset.next_tx, horizon(connection)
    record.tx_from = first

    def archived(written: Written, next_tx: int) -> None:
        record.rows += written.rows
        record.bytes += written.bytes
        progress.step(f"Archiving ({record.rows:,} rows)", next_tx - first, past - first)

    with record.step("archive"):
        record.tx_to = append_settled(spark, connection, options, first=first, archived=archived)
    with record.step("erase"):
        after_archiving(spark, connection, options)


def _finish(
    spark: SparkSession, connection: Connection, options: Options, record: Run, progress: Progress, beside: Beside
) -> None:
    with record.step("facts"):
        compute_pending(spark, connection, options, record, progress, beside)
    wrong = _tidy_up(spark, connection, options, record)
    with record.step("judge"):
        record.findings = write_findings(spark, connection, options)
    if wrong:
        raise PipelineError(" ".join(wrong))


def _tidy_up(spark: SparkSession, connection: Connection, options: Options, record: Run) -> list[str]:
    """Compare past days, make few files of many, delete old snapshots; return what is wrong with which days."""
    today = value(connection, "SELECT (now() AT TIME ZONE 'UTC')::date")
    assert record.tx_to is not None
    with record.step("compare"):
        record.verified, wrong = verify_days(spark, connection, options, offset=record.tx_to, today=today)
    with record.step("compact"):
        record.compacted = compact_days(spark, connection, options)
        _forget_past(spark, connection, options)
    return wrong


def _forget_past(spark: SparkSession, connection: Connection, options: Options) -> None:
    files = Files(spark, options.archive)
    erasing = bool(under_way(connection))
    for table in (open_journal(connection, options.archive), *open_facts(connection, options.archive)):
        forget_past(connection, table, files, everything=erasing)
    sweep(connection, files)
    if erasing:
        prove(spark, connection, options)
