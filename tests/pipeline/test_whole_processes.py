"""The long form: runs as processes of their own, really killed, by schedule, and on a real cluster."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.command import INTERRUPTED
from tests.pipeline.kit import YESTERDAY, Ledger, fill
from tests.pipeline.standalone_spark import standalone_spark
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

pytestmark = pytest.mark.long


def start(ledger: Ledger, *arguments: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "DATABASE_URL": ledger.url, "WILLOW_PIPELINE_ARCHIVE": ledger.options.archive}
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", "run", *arguments],
        cwd=PROJECT_FOLDER,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=ends_with_parent(signal.SIGKILL),
    )


@pytest.mark.parametrize("moment", ["Starting Spark", "Archiving", "Facts"])
def test_a_run_that_is_killed_and_started_again_ends_as_if_nothing_had_been(
    ledger: Ledger, spark: SparkSession, moment: str, tmp_path: Path
) -> None:
    fill(ledger, 30)
    with start(ledger) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(moment):
                process.kill()
    ledger.run(spark)
    killed = ledger.facts()
    assert len(ledger.archived(spark)) == 300
    ledger.forget_facts()
    ledger.run(spark, since=YESTERDAY.date())
    assert ledger.facts() == killed


def test_a_run_that_is_asked_to_stop_leaves_nothing_behind(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, 30)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    lines = []
    with start(ledger) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Archiving"):
                process.terminate()
    assert process.returncode == INTERRUPTED, "".join(lines)
    assert "Traceback" not in "".join(lines)
    assert ledger.query("SELECT state, error FROM willow_pipeline_runs") == [("failed", "It was stopped.")]
    assert not list(scratch.glob("willow-spark-*"))


def test_a_cluster_gives_the_same_facts_as_one_machine(ledger: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    fill(ledger, 30)
    with standalone_spark(tmp_path) as url, start(ledger, "--master", url) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        assert process.wait() == 0, output
    by_cluster = ledger.facts()
    assert len(by_cluster["willow_queue_facts"]) > 10
    ledger.forget_facts()
    ledger.run(spark, since=YESTERDAY.date())
    assert ledger.facts() == by_cluster


def test_the_schedule_runs_the_pipeline(ledger: Ledger) -> None:
    fill(ledger, 1)
    environ = {**os.environ, "DATABASE_URL": ledger.url, "WILLOW_PIPELINE_ARCHIVE": ledger.options.archive}
    command = [sys.executable, "manage.py", "pipeline_schedule", "--once"]
    subprocess.run(command, cwd=PROJECT_FOLDER, env=environ, check=True)
    assert ledger.query("SELECT state, rows FROM willow_pipeline_runs") == [("done", 10)]
