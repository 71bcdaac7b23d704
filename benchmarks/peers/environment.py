"""The Python clients of peers: in an environment of their own, whose packages come after Willow's."""

import hashlib
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

from willow_site.project_folder import PROJECT_FOLDER

REQUIREMENTS = PROJECT_FOLDER / "requirements-peers.txt"
ENVIRONMENT = PROJECT_FOLDER / ".venv-peers"


def enter_peers_environment() -> None:
    """Install the clients on first use."""
    stamp = ENVIRONMENT / f"{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]}.installed"
    if not stamp.exists():
        print(f"Installing the packages of {REQUIREMENTS.name} into {ENVIRONMENT.name} (only when it has changed).")
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        pip = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        stamp.touch()
    find_installed_clients()


def find_installed_clients() -> None:
    """Let this process, and those that it spawns, import what is installed, if anything is."""
    sys.path.append(packages())


def client_missing(package: str) -> str | None:
    """The command that installs a client, if it is not there."""
    return None if importlib.util.find_spec(package) else "./willow bench peers"


def python() -> str:
    return str(ENVIRONMENT / "bin" / "python")


def packages() -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(ENVIRONMENT) / "lib" / version / "site-packages")
