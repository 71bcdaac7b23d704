"""The project's Python environment in `.venv`: made on first use, renewed when its requirements change."""

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from willow_site.file_locks import exclusive_lock
from willow_site.launcher.errors import LauncherError
from willow_site.launcher.installing import run_telling
from willow_site.launcher.owners import owner_of, user_name
from willow_site.project_folder import PROJECT_FOLDER

ENVIRONMENT = PROJECT_FOLDER / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"

# Packages of which only a file is wanted: they go into a folder of their own, off Python's path.
INSTALLED_ASIDE = {"requirements-jdbc.txt": "jdbc"}


def enter_environment(requirements: Iterable[str], arguments: list[str]) -> None:
    """Make sure that the environment has what the files list, and go on in its Python."""
    try:
        missing = [file for file in requirements if not _is_installed(file)]
    except PermissionError:
        raise LauncherError(_closed_environment()) from None
    if missing:
        _install(missing)
    if not ENVIRONMENT.samefile(sys.prefix):
        os.execv(PYTHON, [str(PYTHON), str(PROJECT_FOLDER / "willow"), *arguments])


def _install(files: list[str]) -> None:
    try:
        # Any file that is there before the environment will do.
        with exclusive_lock(PROJECT_FOLDER / files[0]):
            if not _has_working_pip():
                _make_environment()
            for file in files:
                if not _is_installed(file):
                    _install_file(file)
    except PermissionError:
        raise LauncherError(_closed_folder()) from None


def _closed_environment() -> str:
    owner = owner_of(ENVIRONMENT)
    return (
        f"The Python environment {ENVIRONMENT} belongs to {owner}, and {user_name(os.geteuid())} may not use it: "
        f"start Willow as {owner}, or use a checkout of your own."
    )


def _closed_folder() -> str:
    what, how = ("must be updated", "update") if ENVIRONMENT.exists() else ("does not exist yet", "create")
    owner = owner_of(PROJECT_FOLDER)
    return (
        f"The Python environment {ENVIRONMENT} {what}, and {user_name(os.geteuid())} may not {how} it, because the "
        f"folder belongs to {owner}: start Willow once as {owner}, or use a checkout of your own."
    )


def _stamp(file: str) -> Path:
    """A file in the environment whose name says what exactly was installed."""
    digest = hashlib.sha256((PROJECT_FOLDER / file).read_bytes()).hexdigest()
    return ENVIRONMENT / f"{file}.{digest[:16]}.installed"


def _is_installed(file: str) -> bool:
    return PYTHON.exists() and _stamp(file).exists()


def _has_working_pip() -> bool:
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def _make_environment() -> None:
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise LauncherError(
            f"{sys.executable} cannot create a virtual environment. On Debian and Ubuntu, install python3-venv."
        )
    print("Creating a Python environment in .venv (only the first time).", flush=True)
    run_telling(
        [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], "The Python environment could not be created"
    )


def _install_file(file: str) -> None:
    print(f"Installing the packages of {file} (only when it has changed; up to a minute).", flush=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    pip += ["--require-hashes"]
    packages = next(ENVIRONMENT.glob("lib/python3*/site-packages"), None)
    if file in INSTALLED_ASIDE:
        pip += ["--no-deps", "--upgrade", "--target", str(ENVIRONMENT / INSTALLED_ASIDE[file])]
        packages = None
    run_telling(
        [*pip, "-r", str(PROJECT_FOLDER / file)],
        f"The packages of {file} could not be installed",
        packages=packages,
    )
    for outdated in ENVIRONMENT.glob(f"{file}.*.installed"):
        outdated.unlink()
    _stamp(file).touch()
