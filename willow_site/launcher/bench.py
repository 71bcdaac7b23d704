"""`./willow bench`: the benchmarks, which start what they need themselves."""

import os
import sys

from willow_site.launcher.foreground import run_in_foreground


def run(arguments: list[str]) -> int:
    return run_in_foreground([sys.executable, "-m", "benchmarks", *arguments], os.environ)
