"""The long form: runs as processes of their own, really killed, by schedule, and on a real cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.command import INTERRUPTED
from pipeline.java import find_java
from tests.pipeline.kit import NOON, YESTERDAY, Ledger, row
from willow_site.configuration import PROJECT_FOLDER
from willow_site.processes import ends_with_parent

pytestmark = pytest.mark.long


def fill(ledger: Ledger, transactions: int) -> None:
    ledger.make_day(YESTERDAY.date())
    for number in range(transactions):
        first = number * 10
        rows = [
            row(first + n, YESTERDAY if n % 2 else NOON, queue_id=n % 3 + 1, queue_name=f"q{n % 3}") for n in range(8)
        ]
        dead = row(first + 8, outcome="dead", reason="failed", error=f"no paper {number}")
        ledger.write(*rows, dead, row(first + 9, queue_name="service:sums", queue_id=9, posted_at=YESTERDAY))


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
    ledger.query("TRUNCATE willow_queue_facts, willow_client_facts, willow_node_facts, willow_service_facts")
    ledger.query("TRUNCATE willow_dead_letter_clusters")
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
    assert process.returncode == INTERRUPTED
    assert "Traceback" not in "".join(lines)
    assert ledger.query("SELECT state, error FROM willow_pipeline_runs") == [("failed", "It was stopped.")]
    assert not list(scratch.glob("willow-spark-*"))


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A standalone Spark: a master and two workers, from the files that pip installed."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environ = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(find_java(os.environ, folder / "java").home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }

    def spawn(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments, "--host", "127.0.0.1", "--webui-port", "0"],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=ends_with_parent(signal.SIGKILL),
        )

    master = spawn("org.apache.spark.deploy.master.Master", "--port", "0")
    processes = [master]
    try:
        url = said(master, "Starting Spark master at ")
        said(master, "I have been elected leader")
        for number in range(2):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}"), url)
            processes.append(spawn("org.apache.spark.deploy.worker.Worker", *options))
            said(master, "Registering worker")
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


def said(process: subprocess.Popen[str], words: str) -> str:
    """Wait until the process says this, and return what follows on the line."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line.partition(words)[2].strip()
    raise AssertionError(f"the process ended without saying {words!r}")


def test_a_cluster_gives_the_same_facts_as_one_machine(ledger: Ledger, spark: SparkSession, tmp_path: Path) -> None:
    fill(ledger, 30)
    with cluster(tmp_path) as url, start(ledger, "--master", url) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        assert process.wait() == 0, output
    by_cluster = ledger.facts()
    assert len(by_cluster["willow_queue_facts"]) > 10
    ledger.query("TRUNCATE willow_queue_facts, willow_client_facts, willow_node_facts, willow_service_facts")
    ledger.query("TRUNCATE willow_dead_letter_clusters")
    ledger.run(spark, since=YESTERDAY.date())
    assert ledger.facts() == by_cluster


def test_the_schedule_runs_the_pipeline(ledger: Ledger) -> None:
    fill(ledger, 1)
    environ = {**os.environ, "DATABASE_URL": ledger.url, "WILLOW_PIPELINE_ARCHIVE": ledger.options.archive}
    command = [sys.executable, "manage.py", "pipeline_schedule", "--once"]
    subprocess.run(command, cwd=PROJECT_FOLDER, env=environ, check=True)
    assert ledger.query("SELECT state, rows FROM willow_pipeline_runs") == [("done", 10)]
