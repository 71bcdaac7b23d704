"""Following: the newest minutes are there after each step, and the whole is as if it had been computed at once."""

import threading

import pytest
from pyspark.sql import SparkSession

from pipeline.database import connect
from pipeline.following import follow, newest, step
from pipeline.progress import Silent
from pipeline.run import everything
from pipeline.runs import Run
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, row

MINUTES = "SELECT finished, posted FROM willow_queue_facts WHERE grain = 'minute' ORDER BY bucket"
DAYS = "SELECT finished FROM willow_queue_facts WHERE grain = 'day'"


def test_a_step_computes_the_minutes_that_got_rows_and_leaves_the_rest_to_the_round(
    ledger: Ledger, spark: SparkSession
) -> None:
    ledger.write(row(1), row(2))
    record = Run()
    with connect(ledger.url) as connection:
        everything(spark, connection, ledger.options, record, Silent())
        assert ledger.query(DAYS) == [(2,)]
        ledger.write(row(3))
        step(spark, connection, ledger.options, record)
        assert ledger.query(MINUTES) == [(0, 3), (3, 0)]
        assert ledger.query(DAYS) == [(2,)]
        assert ledger.query("SELECT count(*) FROM willow_pending_days") == [(1,)]
        step(spark, connection, ledger.options, record)
    assert (record.rows, len(ledger.archived(spark))) == (3, 3)
    followed = ledger.facts()
    ledger.run(spark)
    assert ledger.query(DAYS) == [(3,)]
    by_run = ledger.facts()
    assert {fact for fact in followed["willow_queue_facts"] if "minute" in fact} < set(by_run["willow_queue_facts"])


def test_it_stops_when_it_is_told_to_and_is_written_down_as_done(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1))
    stopping = threading.Event()
    monkeypatch.setattr("pipeline.following.step", lambda *_: stopping.set())
    follow(spark, ledger.options, every=1, round_seconds=600, stopping=stopping, progress=Silent())
    assert ledger.query("SELECT command, state, rows FROM willow_pipeline_runs") == [("follow", "done", 1)]


def test_late_minutes_wait_for_the_round() -> None:
    assert newest([NOON, YESTERDAY]) == [NOON]
