"""The examples for cron, systemd and Airflow: they parse, and the commands in them exist."""

import argparse
import ast
import configparser
import importlib
import re

import pytest

from pipeline.command import COMMANDS
from willow_site.project_folder import PROJECT_FOLDER

FOLDER = PROJECT_FOLDER / "docs" / "schedules"
CRON_FIELD = re.compile(r"(\*|[0-9]+)(/[0-9]+)?")
CALLS = re.compile(r"/opt/willow/willow (pipeline|manage) ([a-z_]+)")
UNITS = sorted(path.name for path in FOLDER.glob("willow-*.[st]*r*") if path.suffix in (".service", ".timer"))
UNIT_KEYS = {
    "Unit": {"Description", "After", "Wants"},
    "Service": {
        "Type", "User", "WorkingDirectory", "ExecStart", "SuccessExitStatus", "CPUSchedulingPolicy", "Restart",
        "RestartSec",
    },
    "Timer": {"OnBootSec", "OnUnitInactiveSec"},
    "Install": {"WantedBy"},
}  # fmt: skip


def test_every_example_is_named_on_the_page() -> None:
    page = (PROJECT_FOLDER / "docs" / "pipeline.md").read_text(encoding="utf-8")
    for path in FOLDER.iterdir():
        assert f"schedules/{path.name}" in page


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_the_commands_of_the_examples_exist(path: object) -> None:
    known = {name for name, _, _ in COMMANDS} | {"pipeline_schedule"}
    called = {command for _, command in CALLS.findall(path.read_text(encoding="utf-8"))}  # type: ignore[attr-defined]
    assert called <= known
    assert called or str(path).endswith(".timer")


def test_the_lines_for_cron_have_five_times_a_user_and_a_command() -> None:
    lines = (FOLDER / "willow-pipeline.cron").read_text(encoding="utf-8").splitlines()
    jobs = [line for line in lines if line and not line.startswith("#") and not re.match(r"[A-Z]+=", line)]
    assert len(jobs) == 2
    for line in jobs:
        *times, user, command = line.split(maxsplit=6)
        assert len(times) == 5 and all(CRON_FIELD.fullmatch(time) for time in times)
        assert (user, command.startswith("/opt/willow/willow ")) == ("willow", True)
        assert not re.search(r"(?<!\\)%", command), "cron takes a bare % for the end of the line"
    run, erasure = (job.split()[0] for job in jobs)
    assert int(erasure) % int(run.removeprefix("*/")) != 0, "they would begin together, and one would be refused"


@pytest.mark.parametrize("name", UNITS)
def test_the_units_of_systemd_have_only_sections_and_keys_that_it_knows(name: str) -> None:
    unit = configparser.ConfigParser(interpolation=None, delimiters=["="])
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(FOLDER / name, encoding="utf-8")
    assert unit.sections()
    for section in unit.sections():
        assert set(unit[section]) <= UNIT_KEYS[section]
    assert unit.has_section("Timer") == name.endswith(".timer")


def test_the_dag_for_airflow_is_python_and_uses_nothing_but_airflow() -> None:
    tree = ast.parse((FOLDER / "willow_airflow.py").read_text(encoding="utf-8"))
    imported = {
        node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }
    assert imported == {"datetime", "airflow"}
    compile(tree, "willow_airflow.py", "exec")


def test_every_command_takes_the_options_that_the_examples_give() -> None:
    parser = argparse.ArgumentParser()
    importlib.import_module("pipeline.report.command").add_arguments(parser)
    assert parser.parse_args(["--output", "/srv/reports/willow.html"])
