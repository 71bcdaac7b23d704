"""`./willow faults`: a cluster under faults, and a checker of what its clients saw. It starts what it needs itself."""

import os
import sys

from willow_site.launcher.foreground import run_in_foreground, without_settings


def run(arguments: list[str]) -> int:
    return run_in_foreground([sys.executable, "-m", "faults", *arguments], without_settings(os.environ))
