"""Following: the newest minutes are there after each step, and the whole is as if it had been computed at once."""

import threading
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline import computing
from pipeline.beside import Beside
from pipeline.database import connect, value
from pipeline.errors import PipelineError
from pipeline.following import follow, newest, step
from pipeline.progress import Silent
from pipeline.run import everything
from pipeline.runs import Run
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, row

pytestmark = pytest.mark.usefixtures("only_queue_facts")

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


def test_minutes_that_a_step_computes_beside_a_round_are_not_replaced_by_older_ones(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the day, to which rows came meanwhile, stays pending for the next round."""
    ledger.write(row(1))
    beside, steps = Beside(), Run()
    replace = computing.replace_days

    def after_a_step(*given: Any) -> int:
        ledger.write(row(2))
        with connect(ledger.url) as another, beside.commits:
            steps.tx_to = value(another, "SELECT next_tx FROM willow_pipeline_offset")
            beside.fresh.update(step(spark, another, ledger.options, steps))
        return replace(*given)

    with connect(ledger.url) as connection:
        with monkeypatch.context() as patched:
            patched.setattr(computing, "replace_days", after_a_step)
            everything(spark, connection, ledger.options, Run(), Silent(), beside)
        assert (ledger.query(MINUTES), ledger.query(DAYS)) == ([(0, 2), (2, 0)], [(1,)])
        assert ledger.query("SELECT count(*) FROM willow_pending_days") == [(1,)]
        everything(spark, connection, ledger.options, Run(), Silent(), beside)
    assert (ledger.query(MINUTES), ledger.query(DAYS)) == ([(0, 2), (2, 0)], [(2,)])
    assert ledger.query("SELECT count(*) FROM willow_pending_days") == [(0,)]


def test_rounds_go_on_beside_steps_and_what_they_fail_with_is_told(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1))
    stepped = threading.Event()

    def round_(_: SparkSession, connection: Any, *given: Any) -> None:
        assert stepped.wait(60), "no step was made beside it"
        raise PipelineError("It failed beside the steps.")

    def step_(*given: Any) -> list[Any]:
        stepped.set()
        return []

    monkeypatch.setattr("pipeline.following.step", step_)
    monkeypatch.setattr("pipeline.round.everything", round_)
    monkeypatch.setattr("pipeline.following.ROUND_SHARE", 0)  # the next round begins at once
    with pytest.raises(PipelineError, match="It failed beside the steps"):
        follow(spark, ledger.options, every=1, round_seconds=0, stopping=threading.Event(), progress=Silent())
    assert ledger.query("SELECT state FROM willow_pipeline_runs ORDER BY id") == [("done",), ("failed",)]


def test_it_stops_when_it_is_told_to_and_is_written_down_as_done(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1))
    stopping = threading.Event()
    monkeypatch.setattr("pipeline.following.step", lambda *_: stopping.set() or [])
    follow(spark, ledger.options, every=1, round_seconds=600, stopping=stopping, progress=Silent())
    assert ledger.query("SELECT command, state, rows FROM willow_pipeline_runs") == [("follow", "done", 1)]


def test_late_minutes_wait_for_the_round() -> None:
    assert newest([NOON, YESTERDAY]) == [NOON]
