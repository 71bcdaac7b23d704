"""Runs from end to end: what is archived and computed, and that neither depends on how often or when."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from pipeline import computing
from pipeline.database import Connection, connect, sole_run
from pipeline.errors import AlreadyRunningError, PipelineError
from pipeline.facts import percentiles
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, fill, row

FACTS_OF_THE_DAY = (
    "SELECT posted, finished, popped, failed, work_p50, wait_max, queue_tags FROM willow_queue_facts"
    f" WHERE grain = 'day' AND queue_name = 'orders' AND bucket >= '{NOON:%Y-%m-%d}'"
)


@pytest.mark.usefixtures("only_queue_facts")
def test_rows_become_files_and_facts_and_doing_it_again_changes_nothing(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1), row(2, outcome="retried", reason="failed", error="no paper 7"), row(3, outcome="popped"))
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.writing.days.merge_days", dying)
        with pytest.raises(ConnectionAbortedError):
            ledger.run(spark)
    assert ledger.query("SELECT state, error LIKE '%%as if killed%%' FROM willow_pipeline_runs") == [("failed", True)]
    assert ledger.query(FACTS_OF_THE_DAY) == []
    ledger.run(spark)
    assert ledger.archived(spark) == [(1, "finished"), (2, "retried"), (3, "popped")]
    assert ledger.query(FACTS_OF_THE_DAY) == [(2, 1, 1, 1, 2.0, 1.0, ["eu"])]
    first = ledger.facts()
    again = ledger.run(spark, since=NOON.date())
    assert (again.rows, again.days) == (0, {NOON.date()})
    assert ledger.facts() == first


@pytest.mark.long
def test_a_message_counts_as_posted_on_its_day_though_it_ended_on_a_later_one(
    ledger: Ledger, spark: SparkSession
) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY))
    ledger.run(spark)
    ledger.write(row(2, NOON, posted_at=YESTERDAY), row(3, NOON, outcome="dead", reason="failed", error="no"))
    done = ledger.run(spark)
    assert done.days == {YESTERDAY.date(), NOON.date()}
    by_day = ledger.query("SELECT posted, finished, dead FROM willow_queue_facts WHERE grain = 'day' ORDER BY bucket")
    assert by_day == [(2, 1, 0), (1, 1, 1)]
    assert ledger.query("SELECT count, signature FROM willow_dead_letter_clusters") == [(1, "no")]


@pytest.mark.usefixtures("only_queue_facts")
def test_a_day_of_which_messages_have_ended_since_is_not_computed_as_a_whole_and_yet_the_same(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY), row(2, YESTERDAY, outcome="dead", reason="timeout"))
    ledger.run(spark)
    later = YESTERDAY + timedelta(hours=3)
    ledger.write(
        row(3, NOON, posted_at=YESTERDAY), row(4, NOON, posted_at=later), row(5, NOON, posted_at=later, queue_id=2)
    )
    whole = []
    with monkeypatch.context() as patched:
        compute = computing.compute_whole
        patched.setattr(computing, "compute_whole", lambda days: whole.extend(days.days) or compute(days))
        ledger.run(spark)
    assert whole == [NOON.date()]
    little_by_little = ledger.facts()
    ledger.forget_facts()
    ledger.run(spark, since=YESTERDAY.date())
    assert ledger.facts() == little_by_little


def test_late_rows_change_what_they_are_part_of_and_the_rest_is_not_computed_again(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly as if the day had been computed as a whole, in PostgreSQL and in the archive; also by ranges."""
    fill(ledger, 6)
    ledger.run(spark)
    half_past = YESTERDAY + timedelta(minutes=30, seconds=2)
    ledger.write(
        row(901, YESTERDAY, queue_name="q1", queue_id=2, posted_at=YESTERDAY - timedelta(hours=2)),
        row(902, half_past, queue_name="new", queue_id=7, client="other", node="node-2"),
        row(903, half_past, outcome="dead", reason="failed", error="no paper 7"),
        row(904, half_past, queue_name="service:sums", queue_id=9),
        row(905, NOON, queue_name="q2", queue_id=3, posted_at=YESTERDAY),
    )
    with monkeypatch.context() as patched:
        patched.setattr(computing, "compute_whole", dying)
        patched.setattr(computing, "LARGE_ROWS", 0)
        patched.setattr(percentiles, "MOST_GATHERED", 4)
        done = ledger.run(spark)
    assert done.days == {YESTERDAY.date(), NOON.date()}
    late = ledger.facts(), ledger.archived_facts(spark)
    assert ledger.query("SELECT count(*) FROM willow_queue_facts WHERE queue_name = 'new'") == [(4,)]
    ledger.forget_facts()
    ledger.run(spark, since=YESTERDAY.date())
    assert (ledger.facts(), ledger.archived_facts(spark)) == late


@pytest.mark.usefixtures("only_queue_facts")
def test_an_archive_that_lost_a_file_says_so_and_is_mended_from_the_journal(
    ledger: Ledger, spark: SparkSession
) -> None:
    ledger.write(row(1), row(2))
    ledger.run(spark)
    before = ledger.facts()
    [file] = ledger.folder.glob("journal/data/**/*.parquet")
    file.unlink()
    with pytest.raises(PipelineError, match=rf"lacks .*{file.name}.*backfill"):
        ledger.run(spark, since=NOON.date())
    ledger.backfill(spark)
    assert ledger.archived(spark) == [(1, "finished"), (2, "finished")]
    assert ledger.facts() == before


@pytest.mark.usefixtures("only_queue_facts")
def test_a_restored_database_is_noticed_and_archived_anew(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    ledger.query(
        "UPDATE willow_pipeline_offset SET database = 'cluster 1 database 2 timeline 3', next_tx = 88888888888"
    )
    ledger.query("UPDATE delivery_journal SET tx = '99999999999'")  # as a dump of a busier server has it
    ledger.write(row(2))
    with pytest.raises(PipelineError, match=r"another database .*restored.*backfill"):
        ledger.run(spark)
    ledger.backfill(spark)
    assert ledger.archived(spark) == [(1, "finished"), (2, "finished")]
    ledger.write(row(3))
    assert ledger.run(spark).rows == 1
    assert ledger.query("SELECT finished FROM willow_queue_facts WHERE grain = 'day'") == [(3,)]


@pytest.mark.usefixtures("only_queue_facts")
def test_rows_of_an_unknown_outcome_are_archived_and_counted_but_no_facts(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1, outcome="vanished"), row(2))
    done = ledger.run(spark)
    assert done.faults == {"unknown outcome": 1}
    assert ledger.archived(spark) == [(1, "vanished"), (2, "finished")]
    assert ledger.query("SELECT posted, finished FROM willow_queue_facts WHERE grain = 'day'") == [(1, 1)]


def test_only_one_run_at_a_time(ledger: Ledger, spark: SparkSession) -> None:
    with connect(ledger.url) as other, sole_run(other), pytest.raises(AlreadyRunningError):
        ledger.run(spark)
    assert ledger.query("SELECT count(*) FROM willow_pipeline_runs") == [(0,)]


def test_an_archive_elsewhere_is_refused(ledger: Ledger, spark: SparkSession) -> None:
    ledger.archive(spark)
    before = ledger.options.archive
    ledger.with_options(archive="file:///somewhere/else")
    with pytest.raises(PipelineError, match=rf"The archive is at {before}, but"):
        ledger.run(spark)


def test_a_database_that_cannot_be_reached_is_named(ledger: Ledger, spark: SparkSession) -> None:
    ledger.with_options(database_url="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(PipelineError, match=r"cannot be reached: .*refused.*DATABASE_URL"):
        ledger.run(spark)


def test_a_run_that_is_stopped_in_the_midst_of_a_statement_is_written_down_and_lets_go(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(spark: SparkSession, connection: Connection, *_: object) -> None:
        with connection.transaction():
            connection.pgconn.send_query(b"SELECT pg_sleep(600)")
            raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.run.compute_pending", stopped)
    with pytest.raises(KeyboardInterrupt):
        ledger.run(spark)
    assert ledger.query("SELECT state, error FROM willow_pipeline_runs") == [("failed", "It was stopped.")]
    with connect(ledger.url) as other, sole_run(other):
        pass
