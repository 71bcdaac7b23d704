"""What goes wrong is told in a sentence with a remedy; the pages of Java about it are in a file that is named."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

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


@pytest.mark.usefixtures("only_queue_facts")
def test_an_offset_in_the_future_is_refused_and_mended_by_a_backfill(ledger: Ledger, spark: SparkSession) -> None:
    ledger.write(row(1))
    ledger.run(spark)
    ledger.query("UPDATE willow_pipeline_offset SET next_tx = 88888888888")
    ledger.write(row(2))
    with pytest.raises(PipelineError, match=r"offset is transaction 88888888888, but this server .* backfill"):
        ledger.run(spark)
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
    file.write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(Exception) as failure:
        ledger.run(spark, since=NOON.date())
    said = explained(failure.value)
    assert file.name in said.what and "backfill" in said.remedy
    assert "\n" not in str(said)
    trace = keep_trace(failure.value, {"WILLOW_HOME": str(tmp_path)})
    assert trace is not None and "Traceback" in trace.read_text()
    assert ledger.query("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'willow\\_staging\\_%%'") == [(0,)]
    assert ledger.query("SELECT error FROM willow_pipeline_runs ORDER BY id DESC LIMIT 1") == [(str(said),)]


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
