"""What `./willow test` does about the browser, on machines that have one and on others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from willow_site.launcher.browser import arguments_for_pytest
from willow_site.launcher.errors import LauncherError

LEFT_OUT = ["--ignore=tests/browser"]

AddProgram = Callable[[str, str], None]


@pytest.fixture
def add_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AddProgram:
    """A machine without programs, to which some are added."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def add(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    return add


@pytest.fixture
def is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)


def test_with_a_browser_everything_runs(add_program: AddProgram) -> None:
    add_program("chromium", "")
    assert arguments_for_pytest(["-q"]) == ["-q"]


def test_without_one_its_tests_are_left_out_and_the_remedy_told(
    add_program: AddProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    assert arguments_for_pytest(["-q"]) == ["-q", *LEFT_OUT]
    assert "apt-get install" in capsys.readouterr().out


def test_nobody_but_root_installs_one(add_program: AddProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    add_program("apt-get", "exit 1")
    assert arguments_for_pytest([]) == LEFT_OUT


@pytest.mark.parametrize("argument", ["tests/unit", "tests/unit/moves/test_moves.py::test_x"])
def test_other_tests_need_none(add_program: AddProgram, is_root: None, argument: str) -> None:
    add_program("apt-get", "exit 1")
    assert arguments_for_pytest([argument]) == [argument]


def test_root_gets_one_installed(add_program: AddProgram, is_root: None, tmp_path: Path) -> None:
    add_program("apt-get", f'[ "$1" = update ] || printf "%s " "$@" > {tmp_path}/installed')
    assert arguments_for_pytest(["tests/browser"]) == ["tests/browser"]
    assert (tmp_path / "installed").read_text().split()[:4] == [
        "install",
        "--yes",
        "--no-install-recommends",
        "chromium",
    ]


def test_a_failed_installation_says_why(add_program: AddProgram, is_root: None) -> None:
    add_program("apt-get", "echo no such package; exit 100")
    with pytest.raises(LauncherError, match="no such package"):
        arguments_for_pytest([])
