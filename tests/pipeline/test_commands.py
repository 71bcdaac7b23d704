"""The commands as an operator starts them: where their files go, how they end, and what they say if they cannot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.database import connect
from pipeline.runs import recorded
from tests.pipeline.kit import Ledger
from willow_site.configuration import load_configuration
from willow_site.launcher import pipeline as launcher
from willow_site.management.commands.pipeline_schedule import ONE_ACTIVE_SCHEDULE
from willow_site.project_folder import PROJECT_FOLDER


def started(ledger: Ledger, *command: str, **environ: str) -> subprocess.Popen[str]:
    given = {"DATABASE_URL": ledger.url, "WILLOW_PIPELINE_ARCHIVE": ledger.options.archive, **environ}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=PROJECT_FOLDER,
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(ledger: Ledger, *command: str, **environ: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    with started(ledger, *command, **environ) as process:
        output, errors = process.communicate()
    return process.returncode, output, errors


def test_a_report_goes_to_where_the_operator_is(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    (here / "pipeline").mkdir(parents=True)  # not the package
    monkeypatch.chdir(here)
    monkeypatch.setenv("DATABASE_URL", ledger.url)
    assert launcher.run(["--home", str(tmp_path / "home"), "report", "--output", "mine.html"]) == 0
    assert (here / "mine.html").read_text().startswith("<!DOCTYPE html>")


def test_an_archive_is_the_same_folder_from_wherever_a_command_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for setting, place in (("kept", str(PROJECT_FOLDER / "kept")), ("s3a://bucket/kept", "s3a://bucket/kept")):
        configuration = load_configuration({**os.environ, "WILLOW_PIPELINE_ARCHIVE": setting})
        assert launcher.pipeline_environ(configuration)["WILLOW_PIPELINE_ARCHIVE"] == place


@pytest.mark.parametrize(
    ("master", "sentence"),
    [
        ("nonsense", "The master is 'nonsense', but it must be a Spark master such as"),
        pytest.param("local[x]", "not be started on local[x]: Could", marks=pytest.mark.long),
    ],
)
def test_a_master_that_spark_cannot_run_on_is_named_in_a_sentence(ledger: Ledger, master: str, sentence: str) -> None:
    code, _, errors = finished(ledger, "-m", "pipeline", "run", "--master", master)
    assert code == 1
    assert sentence in errors
    assert "Traceback" not in errors


def test_nothing_is_said_to_a_reader_that_has_gone(ledger: Ledger) -> None:
    with started(ledger, "-m", "pipeline", "status", PYTHONUNBUFFERED="1") as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_run_that_is_stopped_is_written_down_as_stopped(ledger: Ledger) -> None:
    with (
        connect(ledger.url) as connection,
        pytest.raises(KeyboardInterrupt),
        recorded(connection, "run", ledger.options),
    ):
        raise KeyboardInterrupt
    assert ledger.query("SELECT state, error FROM willow_pipeline_runs") == [("failed", "It was stopped.")]


def test_a_schedule_for_cron_tells_of_a_failed_run_by_its_exit_code(ledger: Ledger) -> None:
    code, _, errors = finished(
        ledger, "manage.py", "pipeline_schedule", "--once", WILLOW_PIPELINE_DRIVER="/nowhere/postgresql.jar"
    )
    assert code == 1
    assert "WILLOW_PIPELINE_DRIVER is '/nowhere/postgresql.jar'" in errors


def test_a_schedule_for_cron_does_not_queue_up_behind_another_one(ledger: Ledger) -> None:
    with connect(ledger.url) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [ONE_ACTIVE_SCHEDULE])
        code, output, _ = finished(ledger, "manage.py", "pipeline_schedule", "--once")
    assert (code, output) == (0, "Another schedule is running the pipeline; this run is skipped.\n")
    assert ledger.query("SELECT count(*) FROM willow_pipeline_runs") == [(0,)]
