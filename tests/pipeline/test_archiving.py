"""The archive: every row of the journal exactly once, whatever happens in between."""

from datetime import timedelta

import psycopg
import pytest
from pyspark.sql import SparkSession

from pipeline.archive import appending
from pipeline.archive.compaction import compact_days
from pipeline.archive.staging import read_archived
from pipeline.database import connect
from pipeline.errors import PipelineError
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, row, write_rows

REFUSING_PORT = 1  # nothing listens there


def finished(*indexes: int) -> list[tuple[int, str]]:
    return [(index, "finished") for index in indexes]


def on_disk(ledger: Ledger) -> set[str]:
    return {f"file://{path}" for path in ledger.folder.glob("journal/data/**/*.parquet")}


def test_a_lower_id_that_commits_after_a_higher_one_was_read_is_not_lost(ledger: Ledger, spark: SparkSession) -> None:
    with psycopg.connect(ledger.url) as late:
        write_rows(late, [row(1)])
        with psycopg.connect(ledger.url) as early:
            write_rows(early, [row(2)])
        [(visible_id,)] = ledger.query("SELECT max(id) FROM willow_journal_v1")
        ledger.archive(spark)
        too_early = ledger.archived(spark)
    ledger.settle()
    ledger.archive(spark)
    [(late_id,)] = ledger.query("SELECT id FROM willow_journal_v1 WHERE index = 1")
    assert late_id < visible_id, "a reader that remembers the highest id would pass over the late row"
    assert too_early == []
    assert ledger.archived(spark) == finished(1, 2)


def test_slices_and_their_cuts_leave_nothing_out_and_take_nothing_twice(ledger: Ledger, spark: SparkSession) -> None:
    ledger.with_options(slice_rows=7, partition_rows=2, partition_bytes=40)
    for first in range(1, 31, 3):
        ledger.write(*(row(first + n, size=30, body=b"x" * 30) for n in range(3)))
    assert ledger.archive(spark) == 30
    assert ledger.archived(spark) == finished(*range(1, 31))
    assert ledger.archive(spark) == 0


def test_an_empty_journal_gives_an_empty_archive(ledger: Ledger, spark: SparkSession) -> None:
    assert ledger.archive(spark) == 0
    assert ledger.files() == []
    assert ledger.query("SELECT next_tx > 0 FROM willow_pipeline_offset") == [(True,)]


def test_a_database_that_refuses_spark_costs_nothing_but_the_run(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1))
    good = ledger.options.read_url
    ledger.with_options(read_url=f"postgresql://nobody:secret@127.0.0.1:{REFUSING_PORT}/none")
    with pytest.raises(PipelineError, match=r"could not be read: .*connect.*WILLOW_PIPELINE_READ_URL") as refusal:
        ledger.archive(spark)
    assert "secret" not in str(refusal.value)
    ledger.with_options(read_url=good)
    assert ledger.archive(spark) == 1


def test_dying_at_each_step_of_a_commit_leaves_each_row_once(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1), row(2))
    for step in ("write_slice", "open_journal", "let_count", "move_offset"):
        with monkeypatch.context() as patched, pytest.raises(ConnectionAbortedError):
            patched.setattr(appending, step, dying)
            ledger.archive(spark)
        assert ledger.files() == [], step
    ledger.write(row(3))
    ledger.archive(spark)
    assert ledger.archived(spark) == finished(1, 2, 3)
    assert on_disk(ledger) == {file.url for file in ledger.files()}
    assert ledger.query("SELECT count(*) FROM willow_archive_leftovers") == [(0,)]


def test_days_that_agree_with_the_journal_are_told_from_those_that_do_not(ledger: Ledger, spark: SparkSession) -> None:
    ledger.make_day(YESTERDAY.date())
    everything = {
        "reason": "failed",
        "error": "naïve ~|",
        "body": b"\x00\xff",
        "client": None,
        "queue_tags": ["a", "b"],
    }
    ledger.write(row(1, YESTERDAY), row(2, YESTERDAY, outcome="dead", assigned_at=None, **everything), row(3))
    ledger.archive(spark)
    assert ledger.verify(spark) == ([YESTERDAY.date()], [])
    assert ledger.query("SELECT rows FROM willow_archive_days") == [(2,)]
    ledger.query("DELETE FROM willow_archive_days")
    ledger.query("UPDATE delivery_journal SET error = 'other' WHERE index = 2")
    agreed, [wrong] = ledger.verify(spark)
    assert agreed == []
    assert f"disagree about {YESTERDAY.date()}" in wrong


def test_a_day_with_a_row_that_is_not_settled_yet_is_not_compared_but_not_wrong(
    ledger: Ledger, spark: SparkSession
) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY))
    ledger.archive(spark)
    ledger.write(row(2, YESTERDAY))
    assert ledger.verify(spark) == ([], [])


def test_a_row_that_the_archive_should_have_and_has_not_is_told(ledger: Ledger, spark: SparkSession) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY))
    ledger.archive(spark)
    ledger.write(row(2, YESTERDAY))
    ledger.query("UPDATE delivery_journal SET tx = '3' WHERE index = 2")  # behind the offset: no run will read it
    agreed, [wrong] = ledger.verify(spark)
    assert agreed == []
    assert f"disagree about {YESTERDAY.date()}: 2 rows there, 1 here" in wrong


def test_small_files_of_a_compared_day_become_one(ledger: Ledger, spark: SparkSession) -> None:
    ledger.make_day(YESTERDAY.date())
    for index in range(1, 6):
        ledger.write(row(index, YESTERDAY + timedelta(minutes=index)))
        ledger.archive(spark)
    ledger.verify(spark)
    with connect(ledger.url) as connection:
        assert compact_days(spark, connection, ledger.options) == [YESTERDAY.date()]
        assert compact_days(spark, connection, ledger.options) == []
    assert ledger.archived(spark) == finished(1, 2, 3, 4, 5)
    [file] = ledger.files()
    assert (file.day, file.rows) == (YESTERDAY.date(), 5)
    assert ledger.query("SELECT rows FROM willow_archive_days") == [(5,)]


def test_files_of_an_older_schema_read_as_if_the_new_columns_were_empty(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1, error="no paper"))
    ledger.archive(spark)
    [file] = ledger.files()
    spark.read.parquet(file.url).drop("error", "body").write.parquet(f"{ledger.options.archive}/older")
    [read] = read_archived(spark, [f"{ledger.options.archive}/older"]).collect()
    assert (read["index"], read["error"], read["body"]) == (1, None, None)


def test_rows_of_today_are_partitioned_by_the_day_on_which_they_ended(ledger: Ledger, spark: SparkSession) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY), row(2, NOON))
    ledger.archive(spark)
    assert {file.day for file in ledger.files()} == {YESTERDAY.date(), NOON.date()}
