"""What `./willow` installs: the packages that the requirements name, what those need, and the hashes of all."""

import re

import pytest

from willow_site.launcher.main import COMMANDS
from willow_site.project_folder import PROJECT_FOLDER

LOCKED = ("broker", "dev", "pipeline")
PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", re.MULTILINE)


def packages(file: str) -> dict[str, str]:
    text = (PROJECT_FOLDER / file).read_text()
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PACKAGE.findall(text)}


@pytest.mark.parametrize("part", LOCKED)
def test_what_is_asked_for_is_locked_at_the_same_version(part: str) -> None:
    asked, locked = packages(f"requirements-{part}.txt"), packages(f"requirements-{part}.lock")
    assert asked.items() <= locked.items(), "make the lock files again: CONTRIBUTING.md, “… a package”"


@pytest.mark.parametrize("part", LOCKED)
def test_every_locked_package_has_hashes_and_no_address(part: str) -> None:
    text = (PROJECT_FOLDER / f"requirements-{part}.lock").read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", text)
    assert len(entries) == len(packages(f"requirements-{part}.lock"))
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert "--index" not in text


def test_what_several_files_lock_is_locked_at_one_version() -> None:
    versions: dict[str, str] = {}
    for part in LOCKED:
        for name, version in packages(f"requirements-{part}.lock").items():
            assert versions.setdefault(name, version) == version, name


def test_the_launcher_installs_what_is_locked() -> None:
    installed = {file for command in COMMANDS for file in command.requirements}
    assert installed == {f"requirements-{part}.lock" for part in LOCKED} | {"requirements-jdbc.txt"}
