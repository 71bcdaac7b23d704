"""The Python clients of peers: in an environment of their own, whose packages come after Willow's."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from willow_site.configuration import PROJECT_FOLDER

REQUIREMENTS = PROJECT_FOLDER / "requirements-peers.txt"
ENVIRONMENT = PROJECT_FOLDER / ".venv-peers"


def enter_peers_environment() -> None:
    """Install the clients on first use, and let this process and those that it spawns import them."""
    stamp = ENVIRONMENT / f"{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]}.installed"
    if not stamp.exists():
        print(f"Installing the packages of {REQUIREMENTS.name} into {ENVIRONMENT.name} (only when it has changed).")
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        pip = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        stamp.touch()
    sys.path.append(packages())


def python() -> str:
    return str(ENVIRONMENT / "bin" / "python")


def packages() -> str:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(ENVIRONMENT) / "lib" / version / "site-packages")
