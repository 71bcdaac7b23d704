"""Folders and ports for servers that the integration tests start."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launched_willow import free_port


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that every account can reach, as in an ordinary checkout."""
    yield from _reachable_folder()


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """The same for a node that several tests of a module share."""
    yield from _reachable_folder()


@pytest.fixture
def port() -> int:
    return free_port()


def _reachable_folder() -> Iterator[Path]:
    # Not tmp_path: pytest closes its folders to other accounts.
    folder = Path(tempfile.mkdtemp(prefix="willow-test-"))
    folder.chmod(0o755)
    yield folder / "home"
    shutil.rmtree(folder)
