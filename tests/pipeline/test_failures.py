"""What goes wrong is told in a sentence with a remedy; the pages of Java about it are in a file that is named."""

import re
from pathlib import Path

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.commands.status import offset_lines
from pipeline.database import connect
from pipeline.errors import PipelineError
from pipeline.failures import TRACES_KEPT, explained, keep_trace
from pipeline.starting import not_started
from tests.pipeline.kit import NOON, Ledger, row
from tests.pipeline.test_commands import finished

BROKEN_JAVA = """#!/bin/sh
[ "$1" = -version ] && { echo 'openjdk version "21"' >&2; exit; }
echo 'Error: Could not reserve enough space for object heap' >&2
echo '        at java.base/java.lang.Thread.run(Thread.java:1583)' >&2
exit 1
"""
IVY = """:: resolving dependencies :: org.apache.spark#spark-submit-parent-1;1.0
\t\t::          UNRESOLVED DEPENDENCIES         ::
\t\t:: org.postgresql#postgresql;42.7.4: not found
Exception in thread "main" java.lang.Exception: [unresolved dependency: org.postgresql#postgresql;42.7.4: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:474)
"""
FULL_DISK = """An error occurred while calling o8651.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/archive/journal/data/1. \
SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:823)
Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\tat org.apache.hadoop.fs.RawLocalFileSystem.write(RawLocalFileSystem.java:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


@pytest.mark.usefixtures("only_queue_facts")
def test_an_offset_in_the_future_is_refused_and_mended_by_a_backfill(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    ledger.query("UPDATE willow_pipeline_offset SET next_tx = 88888888888")
    ledger.write(row(2))
    with pytest.raises(PipelineError, match=r"offset is transaction 88888888888, but this server .* backfill"):
        ledger.run(spark)
    with connect(ledger.url) as connection:
        assert any("which this server has not come to" in line for line in offset_lines(connection, ledger.options))
    ledger.backfill(spark)
    assert ledger.archived(spark) == [(1, "finished"), (2, "finished")]
    ledger.write(row(3))
    assert ledger.run(spark).rows == 1


@pytest.mark.usefixtures("only_queue_facts")
def test_a_damaged_file_is_named_and_staging_tables_of_a_killed_run_are_dropped(
    ledger: Ledger, spark: SparkSession, tmp_path: Path
) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    ledger.query("CREATE UNLOGGED TABLE willow_staging_queue_facts (grain text)")
    [file] = ledger.folder.glob("journal/**/*.parquet")
    file.write_bytes(b"PAR1 nothing of the kind PAR1".ljust(file.stat().st_size))
    with pytest.raises(Exception) as failure:
        ledger.run(spark, since=NOON.date())
    said = explained(failure.value)
    assert file.name in said.what and "backfill" in said.remedy
    assert "\n" not in str(said)
    trace = keep_trace(failure.value, {"WILLOW_HOME": str(tmp_path)})
    assert trace is not None and "Traceback" in trace.read_text()
    assert ledger.query("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'willow\\_staging\\_%%'") == [(0,)]
    assert ledger.query("SELECT error FROM willow_pipeline_runs ORDER BY id DESC LIMIT 1") == [(str(said),)]


@pytest.mark.usefixtures("only_queue_facts")
def test_a_damaged_list_of_files_is_named(ledger: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    [(place,)] = ledger.query("SELECT metadata_location FROM iceberg_tables WHERE table_name = 'journal'")
    metadata = Path(place.removeprefix("file://"))
    for file in (metadata, *metadata.parent.glob("*.avro")):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(PipelineError, match=r"list of its files, in \S+/journal/metadata, .*backup") as failure:
            ledger.run(spark)
        trace = keep_trace(failure.value, {"WILLOW_HOME": str(tmp_path)})
        assert trace is not None and "Traceback" in trace.read_text()
        file.write_bytes(whole)
    assert ledger.run(spark).rows == 0


@pytest.mark.usefixtures("only_queue_facts")
def test_an_archive_that_cannot_be_written_is_not_taken_for_a_journal_that_cannot_be_read(
    ledger: Ledger, spark: SparkSession
) -> None:
    ledger.write(row(1))
    ledger.folder.write_text("no folder")
    with pytest.raises(OSError) as by_python:
        ledger.run(spark)
    ledger.folder.unlink()
    (ledger.folder / "journal").mkdir(parents=True)
    (ledger.folder / "journal" / "data").write_text("no folder")
    with pytest.raises(PipelineError) as by_spark:
        ledger.run(spark)
    for said in (explained(by_python.value), by_spark.value):
        assert said.what.startswith("A file or folder cannot be used: ") and str(ledger.folder) in said.what
        assert "WILLOW_PIPELINE_ARCHIVE" in said.remedy and "\n" not in str(said)


def test_the_cause_is_found_in_what_java_says() -> None:
    full = PySparkException(FULL_DISK)
    assert str(explained(full)) == (
        "The disk of file:/archive/journal/data/1 is full. Nothing was lost. Make room there, and run again."
    )
    assert explained(PySparkException(FULL_DISK.replace("No space", "No idea"))).what == (
        "Spark failed: No idea left on device"
    )
    assert explained(psycopg.errors.QueryCanceled("canceling statement\nCONTEXT: …")).what == (
        "PostgreSQL refused: canceling statement."
    )


def test_a_java_that_does_not_start_costs_two_lines(ledger: Ledger, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(BROKEN_JAVA)
    java.chmod(0o755)
    home = tmp_path / "home"
    code, _, errors = finished(
        ledger, "-m", "pipeline", "run", JAVA_HOME=str(java.parent.parent), WILLOW_HOME=str(home)
    )
    sentence, place = errors.splitlines()
    assert code == 1
    assert "Could not reserve enough space for object heap" in sentence and "WILLOW_PIPELINE_MEMORY" in sentence
    named = re.search(r"(/\S+\.txt)", place)
    assert named is not None and "Thread.java:1583" in Path(named.group(1)).read_text()


def test_a_package_that_cannot_be_downloaded_is_named() -> None:
    error = not_started(RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"), IVY, "local[*]")
    assert error.what == "Spark could not download org.postgresql:postgresql:42.7.4 from Maven."
    assert error.details == IVY


def test_sentences_have_no_trace_and_traces_are_bounded(tmp_path: Path) -> None:
    environ = {"WILLOW_HOME": str(tmp_path)}
    assert keep_trace(PipelineError("The archive lacks a file."), environ) is None
    for _ in range(TRACES_KEPT + 3):
        keep_trace(ValueError("odd"), environ)
    assert len(list((tmp_path / "pipeline-errors").iterdir())) == TRACES_KEPT
