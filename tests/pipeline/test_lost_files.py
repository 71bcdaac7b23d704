"""Files of the archive that somebody deleted, and the user's way out."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, row

pytestmark = pytest.mark.usefixtures("only_queue_facts")

FINISHED = "SELECT finished FROM willow_queue_facts WHERE grain = 'day' ORDER BY bucket"


@pytest.fixture
def with_losses(ledger: Ledger, spark: SparkSession) -> Ledger:
    """Two files of each of two days were archived; the first of each day is gone."""
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY), row(2))
    ledger.run(spark)
    lost = [file.url for file in ledger.files()]
    ledger.write(row(3, YESTERDAY), row(4))
    ledger.run(spark)
    for url in lost:
        Path(urlsplit(url).path).unlink()
    return ledger


def indexes(ledger: Ledger, spark: SparkSession) -> list[int]:
    return [index for index, _ in ledger.archived(spark)]


def test_files_that_are_gone_are_made_again_though_the_mending_was_killed(
    with_losses: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PipelineError, match=r"lacks \S+\.parquet and 1 more.*backfill"):
        with_losses.run(spark, since=YESTERDAY.date())
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.archive.backfilling.days_changed", dying)
        with pytest.raises(ConnectionAbortedError):
            with_losses.backfill(spark)
    with_losses.backfill(spark)
    assert indexes(with_losses, spark) == [1, 2, 3, 4]
    assert with_losses.query(FINISHED) == [(2,), (2,)]
    with_losses.write(row(5))
    assert with_losses.run(spark).rows == 1
    assert indexes(with_losses, spark) == [1, 2, 3, 4, 5]


def test_what_neither_journal_nor_archive_has_is_given_up_only_if_asked(
    with_losses: Ledger, spark: SparkSession
) -> None:
    with_losses.query(f"DROP TABLE delivery_journal_{YESTERDAY:%Y%m%d}")
    with pytest.raises(PipelineError, match=r"lacks \S+\.parquet, and .*no longer .*\(rows: 1\).*--forget-lost"):
        with_losses.backfill(spark)
    with_losses.backfill(spark, forget_lost=True)
    assert indexes(with_losses, spark) == [2, 3, 4]
    assert with_losses.query(FINISHED) == [(1,), (2,)]
    with_losses.run(spark, since=NOON.date())


@pytest.mark.parametrize("kept", [0, 400])
def test_a_file_that_is_not_whole_is_no_file_without_rows(ledger: Ledger, spark: SparkSession, kept: int) -> None:
    """Spark would read an empty one, and the facts of its day would be gone."""
    ledger.write(row(1))
    ledger.run(spark)
    file = Path(urlsplit(ledger.files()[0].url).path)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(PipelineError, match=rf"lacks \S+\.parquet as a whole: it has {kept} of \d+ bytes.*backfill"):
        ledger.run(spark, since=NOON.date())
    assert ledger.query(FINISHED) == [(1,)]
    ledger.backfill(spark)
    assert indexes(ledger, spark) == [1]


def test_lost_facts_are_computed_again_as_the_refusal_says(ledger: Ledger, spark: SparkSession) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY))
    ledger.run(spark)
    for path in (ledger.folder / "facts" / "queue_facts" / "data").rglob("*.parquet"):
        path.unlink()
    ledger.query(f"DROP TABLE delivery_journal_{YESTERDAY:%Y%m%d}")
    ledger.write(row(2, NOON, posted_at=YESTERDAY))
    day = YESTERDAY.date()
    with pytest.raises(PipelineError, match=rf"lacks \S+queue_facts\S+\.parquet.*run --since {day} --until {day}`"):
        ledger.run(spark)
    ledger.run(spark, since=day, until=day)
    assert ledger.query("SELECT posted, finished FROM willow_queue_facts WHERE grain = 'day' ORDER BY bucket") == [
        (2, 1), (0, 1),
    ]  # fmt: skip
