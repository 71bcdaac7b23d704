"""The long form: the lines of docs/pipeline.md for spark-submit, as they stand there, and nothing else of Willow.

Python has only the packages that the page names. The machine is in another time zone than UTC, as machines are.
"""

import os
import re
import shutil
import signal
import subprocess
import venv
from contextlib import nullcontext
from importlib.metadata import distribution
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.command import FAILED
from pipeline.driver import find_driver
from pipeline.java import find_java
from tests.pipeline.kit import YESTERDAY, Ledger, fill
from tests.pipeline.standalone_spark import standalone_spark
from willow_site.processes import ends_with_parent
from willow_site.project_folder import PROJECT_FOLDER

pytestmark = pytest.mark.long

# What `pip install` brings for the packages that the page names.
PACKAGES = (
    *("pyspark", "py4j", "psycopg", "psycopg-binary", "typing_extensions", "pyiceberg", "pyarrow"),
    *(
        "mmh3",
        "requests",
        "charset_normalizer",
        "idna",
        "urllib3",
        "certifi",
        "click",
        "rich",
        "markdown-it-py",
        "mdurl",
    ),
    *("pygments", "strictyaml", "python-dateutil", "tzdata", "pydantic", "annotated-types", "pydantic-core"),
    *("typing-inspection", "fsspec", "pyparsing", "tenacity", "pyroaring", "cachetools", "zstandard"),
)


def lines_of_the_page() -> tuple[str, str, str]:
    """The three blocks of the section: making the files, installing, running."""
    page = (PROJECT_FOLDER / "docs" / "pipeline.md").read_text(encoding="utf-8")
    section = re.split(r"\n##+ ", page.partition("### With spark-submit")[2])[0]
    making, installing, running = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return making, installing, running


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with the two files, and a Python that has neither Django nor the checkout."""
    making, installing, _ = lines_of_the_page()
    assert set(re.findall(r"(\w+)(?:\[\w+\])?==", installing)) < set(PACKAGES)
    checkout = tmp_path / "checkout"
    shutil.copytree(PROJECT_FOLDER / "pipeline", checkout / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["sh", "-euc", making], cwd=checkout, check=True)
    machine = tmp_path / "machine"
    machine.mkdir()
    for name in ("pipeline.zip", "willow_pipeline.py"):
        shutil.move(checkout / name, machine / name)
    shutil.rmtree(checkout)
    _install(machine / "python")
    return machine


def _install(folder: Path) -> None:
    """As pip would, but by links: Spark is large."""
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python3*/site-packages")
    for package in map(distribution, PACKAGES):
        for file in package.files or ():
            if file.parts[0] != "..":
                _link(packages / file.parts[0], package.locate_file(file.parts[0]))
            elif file.parts[-2] == "bin":
                _link(folder / "bin" / file.name, package.locate_file(file))


def _link(link: Path, target: object) -> None:
    if not link.exists():
        link.symlink_to(Path(str(target)).resolve())


def environ_of(machine: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": f"{machine}/python/bin:/usr/bin:/bin",
        "HOME": str(machine),
        "TZ": "Asia/Kolkata",
        "JAVA_HOME": str(find_java(os.environ, machine / "java").home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **more,
    }


def shell(machine: Path, lines: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-euc", lines],
        cwd=machine,
        env=environ_of(machine, **environ),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=ends_with_parent(signal.SIGKILL),
    )


@pytest.mark.parametrize("master", ["local[2]", "standalone"])
def test_the_lines_of_the_page_run_the_pipeline(
    ledger: Ledger, spark: SparkSession, machine: Path, tmp_path: Path, master: str
) -> None:
    fill(ledger, 30)
    with standalone_spark(tmp_path) if master == "standalone" else nullcontext(master) as url:
        given = {
            "postgresql://willow:secret@db.example.org:5432/willow": ledger.url,
            "s3a://bucket/willow": ledger.options.archive,
            "spark://host:7077": url,
            "postgresql-42.7.4.jar": str(find_driver(os.environ).jar),
            "2026-11-01": YESTERDAY.date().isoformat(),
        }
        lines = lines_of_the_page()[2]
        for example, real in given.items():
            assert example in lines
            lines = lines.replace(example, f"'{real}'")
        done = shell(machine, lines)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Archived 300 rows." in done.stdout
    assert ledger.query("SELECT command, state, rows FROM willow_pipeline_runs ORDER BY id") == [
        ("run", "done", 300),
        ("backfill", "done", 300),
    ]
    assert "</html>" in (machine / "willow-report.html").read_text(encoding="utf-8")
    assert len(ledger.archived(spark)) == 300
    by_submit = ledger.facts()
    assert all(by_submit.values())
    ledger.forget_facts()
    ledger.run(spark, since=YESTERDAY.date())
    assert ledger.facts() == by_submit


def test_there_is_no_django_and_no_checkout(machine: Path) -> None:
    for module in ("django", "delivery", "willow_site"):
        assert "ModuleNotFoundError" in shell(machine, f"python3 -c 'import {module}'").stderr


def test_what_was_given_wrongly_is_said_in_a_sentence(machine: Path, ledger: Ledger) -> None:
    addresses = f"DATABASE_URL='{ledger.url}' WILLOW_PIPELINE_ARCHIVE='{ledger.options.archive}'"
    submit = f"{addresses} spark-submit --master 'local[1]' --py-files pipeline.zip"
    without_driver = shell(machine, f"{submit} willow_pipeline.py run")
    assert without_driver.returncode == FAILED
    assert "Spark has no JDBC driver for PostgreSQL. Give spark-submit one: `--jars" in without_driver.stdout
    another_master = shell(machine, f"{submit} willow_pipeline.py run --master spark://host:7077")
    assert another_master.returncode == FAILED
    assert "Give --master to it, before the file." in another_master.stdout
    for said in (without_driver, another_master):
        assert "Traceback" not in said.stdout + said.stderr
    assert ledger.query("SELECT count(*) FROM willow_pipeline_runs") == [(0,)]
