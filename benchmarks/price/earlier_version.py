"""An earlier version of Willow, taken from the history of this repository into a folder of its own."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from willow_site.project_folder import PROJECT_FOLDER


class NoEarlierVersionError(Exception):
    """The version cannot be had; the message says why."""


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    archive = subprocess.run(
        ["git", "archive", "--format=tar", revision], cwd=PROJECT_FOLDER, capture_output=True, check=False
    )
    if archive.returncode != 0:
        raise NoEarlierVersionError(
            f"The revision {revision} is not in the history of this checkout, so there is nothing to compare with: "
            "use a full clone, or name another one with --against."
        )
    with tempfile.TemporaryDirectory(prefix="willow-earlier-") as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)
