"""Copies of this checkout elsewhere on the machine, with or without their Python environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from willow_site.embedded.account import Account
from willow_site.launcher.environment import ENVIRONMENT
from willow_site.project_folder import PROJECT_FOLDER

NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".willow", "__pycache__", ".*_cache", ".hypothesis")
THIS_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = (Path("/usr/bin/python3"), Path("/usr/local/bin/python3"), Path(sys.base_prefix) / "bin/python3")


def copy_checkout(destination: Path, owner: Account) -> None:
    """A checkout like a fresh clone: no environment, no home."""
    shutil.copytree(PROJECT_FOLDER, destination, ignore=NOT_COPIED)
    for path in (destination, *destination.rglob("*")):
        owner.give(path)


def give_environment(checkout: Path, owner: Account) -> None:
    """Save the copy the installation: an environment that shares its packages with the one of the tests."""
    subprocess.run(
        [python_of(owner), "-m", "venv", "--without-pip", str(checkout / ".venv")],
        check=True,
        cwd="/",
        **owner.popen_arguments(),
    )
    packages = Path("lib", f"python{THIS_VERSION}", "site-packages")
    shutil.rmtree(checkout / ".venv" / packages)
    shutil.copytree(ENVIRONMENT / packages, checkout / ".venv" / packages, copy_function=_link_or_copy)
    for stamp in ENVIRONMENT.glob("*.installed"):
        shutil.copy(stamp, checkout / ".venv")


def python_of(account: Account) -> Path:
    """A Python of this version that the account can run; the one of the tests may be closed to it."""
    for python in PYTHONS:
        ask = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            answer = subprocess.run(
                ask, capture_output=True, text=True, check=False, cwd="/", **account.popen_arguments()
            )
        except OSError:
            continue
        if answer.stdout.strip() == THIS_VERSION:
            return python
    raise AssertionError(f"The account {account.name} can run no Python {THIS_VERSION} on this machine.")


def _link_or_copy(source: str, destination: str) -> None:
    try:
        os.link(source, destination)
    except OSError:  # on another disk
        shutil.copy2(source, destination)
