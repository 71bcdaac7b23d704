"""A dump, restored by PostgreSQL's own tools into a server of its own: the archive goes on from there."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, dying, fill, row
from tests.pipeline.test_lake import catalog_of
from willow_site.embedded.account import service_account
from willow_site.embedded.binaries import postgres_binaries
from willow_site.embedded.postgres import throwaway_postgres

Restore = Callable[[], Ledger]

# So many transactions that the numbers of the dump lie in the future of the server that it is restored into.
BUSY = "DO $$ BEGIN FOR n IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
ROWS_AHEAD = "SELECT count(*) > 0 FROM delivery_journal WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())"


def postgres_tool(name: str, *arguments: str) -> None:
    program = postgres_binaries(service_account()).program(name)
    subprocess.run([program, *arguments], check=True, capture_output=True)


@pytest.fixture
def dump(ledger: Ledger, tmp_path: Path) -> Callable[[], None]:
    def dump() -> None:
        postgres_tool("pg_dump", "--format=custom", f"--file={tmp_path / 'willow.dump'}", f"--dbname={ledger.url}")

    return dump


@pytest.fixture
def restore(ledger: Ledger, tmp_path: Path) -> Iterator[Restore]:
    """Into a cluster that was made for it; the archive is the same."""
    with throwaway_postgres() as url:

        def restore() -> Ledger:
            postgres_tool("pg_restore", f"--dbname={url}", "--exit-on-error", str(tmp_path / "willow.dump"))
            return Ledger(url, ledger.folder)

        yield restore


def seen_by_readers(ledger: Ledger) -> list[int]:
    """The index of every row that a reader of the table finds."""
    return sorted(catalog_of(ledger).load_table("willow.journal").scan().to_arrow()["index"].to_pylist())


@pytest.mark.long
def test_archive_and_facts_are_the_same_after_dump_and_restore(
    ledger: Ledger, spark: SparkSession, dump: Callable[[], None], restore: Restore
) -> None:
    ledger.query(BUSY)
    fill(ledger, 3)
    ledger.run(spark)
    archived, facts = ledger.archived(spark), ledger.facts()
    dump()
    restored = restore()
    assert restored.query(ROWS_AHEAD) == [(True,)]
    with pytest.raises(PipelineError, match=r"another database .*restored.*`./willow pipeline backfill`"):
        restored.run(spark)
    restored.backfill(spark)
    assert restored.archived(spark) == archived
    assert seen_by_readers(restored) == [index for index, _ in archived]
    assert restored.facts() == facts
    restored.write(row(1000), row(1001, YESTERDAY))
    assert restored.run(spark).rows == 2
    assert [index for index, _ in restored.archived(spark)] == [*(index for index, _ in archived), 1000, 1001]
    both_days = restored.facts()
    restored.forget_facts()
    restored.run(spark, since=YESTERDAY.date())
    assert restored.facts() == both_days != facts


@pytest.mark.usefixtures("only_queue_facts")
def test_rows_on_both_sides_of_the_dump_count_as_the_restored_database_has_them(
    ledger: Ledger, spark: SparkSession, dump: Callable[[], None], restore: Restore
) -> None:
    """Archived before and dropped from the journal; before; not yet; after the dump; after the restore."""
    ledger.make_day(YESTERDAY.date())
    ledger.write(row(1, YESTERDAY))
    ledger.write(row(2))
    ledger.run(spark)
    ledger.query(f"DROP TABLE delivery_journal_{YESTERDAY:%Y%m%d}")
    ledger.write(row(3))
    dump()
    ledger.write(row(4))
    ledger.run(spark)
    assert seen_by_readers(ledger) == [1, 2, 3, 4]
    restored = restore()
    restored.write(row(5))
    restored.backfill(spark)
    assert [index for index, _ in restored.archived(spark)] == [1, 2, 3, 5]
    assert seen_by_readers(restored) == [1, 2, 3, 5]
    [aside] = restored.folder.glob(f"_aside/*/journal/data/*/*={NOON.date()}/*.parquet")
    assert sorted(row["index"] for row in spark.read.parquet(str(aside)).collect()) == [3, 4]
    finished = restored.query("SELECT finished FROM willow_queue_facts WHERE grain = 'day' ORDER BY bucket")
    assert finished == [(1,), (3,)]
    restored.write(row(6))
    assert restored.run(spark).rows == 1
    assert seen_by_readers(restored) == [1, 2, 3, 5, 6]


@pytest.mark.long
@pytest.mark.usefixtures("only_queue_facts")
def test_a_backfill_after_a_restore_can_be_killed_and_run_again(
    ledger: Ledger, spark: SparkSession, dump: Callable[[], None], restore: Restore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.query(BUSY)
    fill(ledger, 2)
    ledger.run(spark)
    archived, facts = ledger.archived(spark), ledger.facts()
    dump()
    restored = restore()
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.run._restart_offset", dying)
        with pytest.raises(ConnectionAbortedError):
            restored.backfill(spark)
    with pytest.raises(PipelineError, match="another database"):
        restored.run(spark)
    restored.backfill(spark)
    assert restored.archived(spark) == archived
    assert restored.facts() == facts
