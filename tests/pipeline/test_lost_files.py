"""Files of the archive that somebody deleted, and the user's way out."""

import shutil

import pytest
from pyspark.sql import SparkSession

from pipeline.archive import appending
from pipeline.errors import PipelineError
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, row

pytestmark = pytest.mark.usefixtures("only_queue_facts")

FINISHED = "SELECT finished FROM willow_queue_facts WHERE grain = 'day' ORDER BY bucket"


@pytest.fixture
def half_done(ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Rows of two days are in place; more of both count, and are still where they were staged."""
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY), row(2))
    ledger.run(spark)
    ledger.write(row(3, YESTERDAY), row(4))
    with monkeypatch.context() as patched:
        patched.setattr(appending, "roll_forward", dying)
        with pytest.raises(ConnectionAbortedError):
            ledger.run(spark)
    return ledger


def indexes(ledger: Ledger, spark: SparkSession) -> list[int]:
    return [index for index, _ in ledger.archived(spark)]


def test_files_lost_before_they_were_in_place_are_made_again(half_done: Ledger, spark: SparkSession) -> None:
    staged = half_done.query("SELECT staged FROM willow_archive_parts WHERE state = 'committed' ORDER BY path")
    shutil.rmtree(half_done.folder / "_staging")
    with pytest.raises(
        PipelineError, match=rf"lacks \S+/{staged[0][0]}, which has rows of .*`./willow pipeline backfill`"
    ):
        half_done.run(spark)
    done = half_done.backfill(spark, since=NOON.date(), until=NOON.date())  # both days are mended all the same
    assert done.rows == 4
    assert indexes(half_done, spark) == [1, 2, 3, 4]
    assert half_done.query(FINISHED) == [(2,), (2,)]
    assert half_done.query("SELECT DISTINCT state FROM willow_archive_parts") == [("placed",)]
    half_done.write(row(5))
    assert half_done.run(spark).rows == 1
    assert indexes(half_done, spark) == [1, 2, 3, 4, 5]


def test_mending_that_is_killed_can_be_done_again(
    half_done: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(half_done.folder / "_staging")
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.archive.backfilling.add_parts", dying)
        with pytest.raises(ConnectionAbortedError):
            half_done.backfill(spark)
    half_done.backfill(spark)
    assert indexes(half_done, spark) == [1, 2, 3, 4]
    assert half_done.query(FINISHED) == [(2,), (2,)]


@pytest.mark.parametrize("also_in_place", [False, True])
def test_what_neither_journal_nor_archive_has_is_given_up_only_if_asked(
    half_done: Ledger, spark: SparkSession, *, also_in_place: bool
) -> None:
    shutil.rmtree(half_done.folder / "_staging")
    if also_in_place:
        shutil.rmtree(half_done.folder / "journal" / f"day={YESTERDAY.date()}")
    half_done.query(f"DROP TABLE delivery_journal_{YESTERDAY:%Y%m%d}")
    with pytest.raises(PipelineError, match=r"lacks \S+_staging/\S+, and .*no longer .*\(rows: 1\).*--forget-lost"):
        half_done.backfill(spark)
    half_done.backfill(spark, forget_lost=True)
    assert indexes(half_done, spark) == ([2, 4] if also_in_place else [1, 2, 4])
    assert half_done.query(FINISHED) == ([(2,)] if also_in_place else [(1,), (2,)])
    half_done.run(spark)
