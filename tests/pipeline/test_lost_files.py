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
