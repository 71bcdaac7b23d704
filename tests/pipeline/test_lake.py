"""The archive and the facts as Iceberg tables: what readers see is whole at every moment, and exactly what counts."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from pipeline.archive import compaction
from pipeline.archive.compaction import compact_days
from pipeline.archive.files import Files
from pipeline.archive.journal_table import open_journal
from pipeline.archive.leftovers import sweep
from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.lake.history import forget_past, kept_times
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, fill, row
from willow_site.project_folder import PROJECT_FOLDER

pytestmark = pytest.mark.usefixtures("only_queue_facts")


def uri_of(ledger: Ledger) -> str:
    return ledger.url.replace("postgresql://", "postgresql+psycopg://")


def catalog_of(ledger: Ledger) -> SqlCatalog:
    """As a reader opens it, who knows nothing of Willow."""
    catalog = load_catalog("willow", type="sql", uri=uri_of(ledger), init_catalog_tables="false")
    assert isinstance(catalog, SqlCatalog)
    return catalog


@pytest.fixture
def small_files(ledger: Ledger, spark: SparkSession) -> Iterator[Ledger]:
    """A day that was compared, in five files."""
    ledger.make_day(YESTERDAY.date())
    for index in range(1, 6):
        ledger.write(row(index, YESTERDAY + timedelta(minutes=index)))
        ledger.archive(spark)
    ledger.verify(spark)
    yield ledger


def examples() -> list[str]:
    """The examples of the page for readers, in order."""
    page = (PROJECT_FOLDER / "docs" / "pipeline.md").read_text(encoding="utf-8")
    section = page.partition("\n## The archive\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_the_readers_of_the_page_find_the_same_rows(ledger: Ledger, spark: SparkSession) -> None:
    fill(ledger, 3)
    ledger.run(spark)
    found: dict[str, Any] = {"spark": spark}
    for example in examples():
        here = example.replace("postgresql+psycopg://willow_analyst:secret@db.example.org:5432/willow", uri_of(ledger))
        exec(here.replace("2026-11-16", NOON.date().isoformat()), found)
    dead = ledger.query("SELECT queue_name, reason, error FROM willow_journal_v1 WHERE outcome = 'dead' ORDER BY error")
    read = found["frame"].sort_values("error")[["queue_name", "reason", "error"]]
    assert list(read.itertuples(index=False, name=None)) == dead != []
    per_queue = ledger.query("SELECT queue_name, count(*) FROM willow_journal_v1 GROUP BY 1 ORDER BY 1")
    assert sorted(found["per_queue"]) == per_queue
    assert found["messages"] == len(found["earlier"]) == sum(count for _, count in per_queue)


def test_the_facts_are_the_same_in_both_places(ledger: Ledger, spark: SparkSession) -> None:
    fill(ledger, 1)
    ledger.run(spark)
    names = ("grain", "bucket", "queue_id", "posted", "finished", "wait_p50")
    read = catalog_of(ledger).load_table("willow.queue_facts").scan(selected_fields=names).to_arrow().to_pylist()
    in_postgres = ledger.query(f"SELECT {', '.join(names)} FROM willow_queue_facts")
    assert {tuple(fact[name] for name in names) for fact in read} == set(in_postgres)
    assert len(read) == len(in_postgres)


def test_readers_see_each_row_once_while_files_are_replaced_and_after_kills(
    small_files: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = catalog_of(small_files).load_table("willow.journal")
    with connect(small_files.url) as connection:
        for step in ("write_journal", "let_count"):
            with monkeypatch.context() as patched, pytest.raises(ConnectionAbortedError):
                patched.setattr(compaction, step, dying)
                compact_days(spark, connection, small_files.options)
            half_way = catalog_of(small_files).load_table("willow.journal")
            assert half_way.scan().to_arrow().num_rows == 5, step
        sweep(connection, Files(spark, small_files.options.archive))
        compact_days(spark, connection, small_files.options)
        assert before.scan().to_arrow().num_rows == 5, "whoever began to read before can go on"
        after = catalog_of(small_files).load_table("willow.journal")
        assert (after.scan().to_arrow().num_rows, len(list(after.scan().plan_files()))) == (5, 1)
        assert after.scan(snapshot_id=before.current_snapshot().snapshot_id).to_arrow().num_rows == 5


def test_a_past_that_is_forgotten_takes_its_files_along(small_files: Ledger, spark: SparkSession) -> None:
    files = Files(spark, small_files.options.archive)
    with connect(small_files.url) as connection:
        compact_days(spark, connection, small_files.options)
        orphan = small_files.folder / "journal" / "metadata" / "written-in-vain.avro"
        orphan.write_bytes(b"by a run that was killed")
        forget_past(connection, open_journal(connection, small_files.options.archive), files, everything=True)
        sweep(connection, files)
        journal = open_journal(connection, small_files.options.archive)
        assert len(journal.table.metadata.snapshots) == 1
    assert len(list(small_files.folder.glob("journal/data/**/*.parquet"))) == 1
    assert not orphan.exists()
    assert len(list((small_files.folder / "journal" / "metadata").glob("*.metadata.json"))) == 1
    assert small_files.archived(spark) == [(index, "finished") for index in range(1, 6)]


def test_the_older_the_past_the_fewer_of_it_are_kept() -> None:
    now = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
    ten_minutes = [now - timedelta(minutes=10 * number) for number in range(6 * 24 * 10)]
    kept = sorted(kept_times(ten_minutes, now), reverse=True)
    assert kept[:8] == [*ten_minutes[:7], now - timedelta(minutes=70)]
    assert len(kept) < 7 + 25 + 8
    assert now - kept[-1] <= timedelta(days=8)
    long_ago = now - timedelta(days=400)
    assert kept_times([long_ago], now) == {long_ago}, "the present stays, however old it is"


def test_a_column_that_willow_learns_is_added_to_the_table(
    ledger: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.types import StructType

    from pipeline.archive import journal_table

    older = StructType([field for field in journal_table.JOURNAL if field.name != "error"])
    with monkeypatch.context() as patched, connect(ledger.url) as connection:
        patched.setattr(journal_table, "JOURNAL", older)
        open_journal(connection, ledger.options.archive)
    assert "error" not in catalog_of(ledger).load_table("willow.journal").schema().column_names
    ledger.write(row(1, outcome="dead", error="no paper"))
    ledger.archive(spark)
    assert catalog_of(ledger).load_table("willow.journal").scan().to_arrow()["error"].to_pylist() == ["no paper"]


def test_an_offset_behind_the_archive_is_refused_and_mended(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    ledger.query("UPDATE willow_pipeline_offset SET next_tx = 0")
    with pytest.raises(PipelineError, match=r"offset is transaction 0, but the archive has .* twice.*backfill"):
        ledger.run(spark)
    ledger.backfill(spark)
    assert ledger.archived(spark) == [(1, "finished")]
    ledger.write(row(2))
    assert ledger.run(spark).rows == 1


def test_an_archive_that_was_moved_is_taken_over_by_a_backfill(
    ledger: Ledger, spark: SparkSession, tmp_path: Path
) -> None:
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY), row(2))
    ledger.run(spark)
    facts = ledger.facts()
    ledger.query(f"DROP TABLE delivery_journal_{YESTERDAY:%Y%m%d}")
    shutil.move(ledger.folder, tmp_path / "elsewhere")
    moved = Ledger(ledger.url, tmp_path / "elsewhere")
    moved.backfill(spark)
    assert moved.archived(spark) == [(1, "finished"), (2, "finished")]
    assert moved.facts() == facts
    assert catalog_of(moved).load_table("willow.queue_facts").scan().to_arrow().num_rows == len(
        facts["willow_queue_facts"]
    )
    moved.run(spark)
