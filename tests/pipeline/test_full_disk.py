"""The archive's disk runs full in the midst of a run: nothing is lost, and nothing is there twice."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.failures import explained
from tests.pipeline.kit import Ledger, row

MEGABYTE = 1_000_000
ROWS = 24  # of half a megabyte each


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory with room for a part of the rows. Only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=7m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.long
@pytest.mark.usefixtures("only_queue_facts")
def test_what_did_not_fit_is_archived_once_when_there_is_room(
    ledger: Ledger, spark: SparkSession, small_disk: Path
) -> None:
    ledger.with_options(archive=(small_disk / "archive").as_uri(), slice_rows=4)
    for index in range(ROWS):
        ledger.write(row(index, body=os.urandom(MEGABYTE // 2), size=MEGABYTE // 2))
    everything = [(index, "finished") for index in range(ROWS)]
    for _ in range(2):  # to try again is of no use, and does no harm
        with pytest.raises(Exception) as failure:
            ledger.run(spark)
        assert "is full" in explained(failure.value).what
        archived = ledger.archived(spark)
        assert archived == everything[: len(archived)] != everything
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    ledger.run(spark)
    assert ledger.archived(spark) == everything
