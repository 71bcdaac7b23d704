"""Following: the newest minutes are there after each step, and the whole is as if it had been computed at once."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline import computing
from pipeline import minutes as module
from pipeline.beside import Beside
from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.following import Pace, follow
from pipeline.minutes import MinuteFacts, first_to_compute
from pipeline.progress import Silent
from pipeline.run import everything
from pipeline.runs import Run
from tests.pipeline.kit import NOON, Ledger, row

pytestmark = pytest.mark.usefixtures("only_queue_facts")

MINUTES = "SELECT finished, posted FROM willow_queue_facts WHERE grain = 'minute' ORDER BY bucket, queue_id"
DAYS = "SELECT finished FROM willow_queue_facts WHERE grain = 'day'"


def test_a_step_computes_the_minutes_that_got_rows_and_leaves_the_rest_to_the_round(
    ledger: Ledger, spark: SparkSession
) -> None:
    now = datetime.now(UTC).replace(second=30)
    late = now - timedelta(minutes=30)
    ledger.write(row(1, now), row(2, now))
    record, beside = Run(), Beside()
    with connect(ledger.url) as connection:
        everything(spark, connection, ledger.options, record, Silent())
        assert record.tx_to is not None
        with MinuteFacts(spark, connection, ledger.options, past=record.tx_to) as minutes:
            ledger.write(row(3, now), row(4, now + timedelta(minutes=1), queue_id=2), row(5, late))
            assert minutes.step(beside) == 2
            assert ledger.query(MINUTES) == [(3, 3), (1, 1)]
            ledger.write(row(6, now + timedelta(minutes=1), posted_at=now))
            assert minutes.step(beside) == 3
            assert minutes.step(beside) == 0
    assert ledger.query(MINUTES) == [(3, 4), (1, 0), (1, 1)]
    assert (ledger.query(DAYS), len(ledger.archived(spark))) == ([(2,)], 2)
    assert ledger.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'willow_staging%%'") == []
    followed = set(ledger.facts()["willow_queue_facts"])
    ledger.run(spark)
    assert {fact for fact in followed if "minute" in fact} < set(ledger.facts()["willow_queue_facts"])
    assert len(ledger.archived(spark)) == 6


def test_minutes_that_a_step_computes_beside_a_round_are_not_replaced_by_older_ones(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round's are of the time when it archived. What came later is in the archive with the next round."""
    now = datetime.now(UTC).replace(second=30)
    ledger.write(row(1, now))
    beside = Beside()
    replace = computing.replace_days

    def after_a_step(*given: Any, **how: Any) -> int:
        ledger.write(row(2, now))
        with connect(ledger.url) as another, MinuteFacts(spark, another, ledger.options, past=0) as minutes:
            assert minutes.step(beside) == 1
        return replace(*given, **how)

    with connect(ledger.url) as connection:
        with monkeypatch.context() as patched:
            patched.setattr(computing, "replace_days", after_a_step)
            everything(spark, connection, ledger.options, Run(), Silent(), beside)
        assert (ledger.query(MINUTES), ledger.query(DAYS)) == ([(2, 2)], [(1,)])
        everything(spark, connection, ledger.options, Run(), Silent(), beside)
    assert (ledger.query(MINUTES), ledger.query(DAYS)) == ([(2, 2)], [(2,)])


def test_a_step_that_read_before_a_round_archived_is_made_again(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC).replace(second=30)
    beside = Beside()
    with connect(ledger.url) as connection:
        everything(spark, connection, ledger.options, Run(), Silent(), beside)
        with MinuteFacts(spark, connection, ledger.options, past=0) as minutes:
            ledger.write(row(1, now))
            with monkeypatch.context() as patched:
                refill = module.refill_staging
                patched.setattr(module, "refill_staging", lambda *given: refill(*given) or beside.archived())
                assert minutes.step(beside) == 0
            assert ledger.query(MINUTES) == []
            assert minutes.step(beside) == 1
    assert ledger.query(MINUTES) == [(1, 1)]


def test_rounds_go_on_beside_steps_and_what_they_fail_with_is_told(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1))
    in_round, stepped = threading.Event(), threading.Event()

    def round_(*given: Any) -> None:
        in_round.set()
        assert stepped.wait(60), "no step was made beside it"
        raise PipelineError("It failed beside the steps.")

    def step(*given: Any) -> int:
        if in_round.is_set():
            stepped.set()
        return 0

    monkeypatch.setattr(MinuteFacts, "step", step)
    monkeypatch.setattr("pipeline.round.everything", round_)
    monkeypatch.setattr("pipeline.following.ROUND_SHARE", 0)  # the next round begins at once
    with pytest.raises(PipelineError, match="It failed beside the steps"):
        follow(spark, ledger.options, pace=Pace(1, 0), stopping=threading.Event(), progress=Silent())
    assert ledger.query("SELECT state FROM willow_pipeline_runs ORDER BY id") == [("done",), ("failed",)]


def test_it_stops_when_it_is_told_to_and_is_written_down_as_done(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write(row(1))
    stopping = threading.Event()
    monkeypatch.setattr(MinuteFacts, "step", lambda *_: stopping.set() or 0)
    follow(spark, ledger.options, pace=Pace(1, 600), stopping=stopping, progress=Silent())
    assert ledger.query("SELECT command, state, rows FROM willow_pipeline_runs") == [("follow", "done", 1)]


@pytest.mark.parametrize(
    ("ended", "happened", "expected"),
    [
        ([], [], None),
        ([10], [10], 10),
        ([9, 10], [9, 10], 9),
        ([10], [3, 9, 10], 9),  # posted in the minute before
        ([10], [3, 10], 10),  # posted long before: for the round
        ([2, 10], [2, 10], 10),  # late
        ([1, 6], [1, 5, 6], 5),
        ([6], [4, 5, 6], 5),
        ([5], [4, 5], 5),  # nobody knows about earlier minutes
        ([3], [3], None),
    ],
)
def test_late_minutes_wait_for_the_round(ended: list[int], happened: list[int], expected: int | None) -> None:
    def at(minute: int) -> datetime:
        return NOON + timedelta(minutes=minute)

    found = first_to_compute({at(minute) for minute in ended}, {at(minute) for minute in happened}, at(5))
    assert found == (None if expected is None else at(expected))
