"""What docs/testing.md shows works as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from willow_site.launcher.foreground import without_settings
from willow_site.project_folder import PROJECT_FOLDER

PATIENCE = 300  # seconds


@pytest.mark.long
def test_its_test_passes(tmp_path: Path) -> None:
    page = (PROJECT_FOLDER / "docs" / "testing.md").read_text()
    [test] = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "test_shop.py").write_text(test)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plugins = ("-p", "willow_testing.plugin", "-p", "no:django", "-p", "no:cacheprovider")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, f"--willow-checkout={PROJECT_FOLDER}", str(tmp_path)],
        cwd=tmp_path,
        env={**without_settings(os.environ), "PYTHONPATH": str(PROJECT_FOLDER / "sdk")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
