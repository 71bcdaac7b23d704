"""`./willow lint`: style, types and the direction of imports."""

import os
import sys
from pathlib import Path

from willow_site.launcher.foreground import run_in_foreground, without_settings

CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy", "."),
    ("lint-imports",),
)

# The type checker loads Django's settings, which need these; nothing connects anywhere.
PLACEHOLDERS = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1/none",
    "SECRET_KEY": "only for the type checker, which signs nothing",
}


def run(arguments: list[str]) -> int:
    programs = Path(sys.executable).parent
    environ = without_settings(os.environ) | PLACEHOLDERS
    failed = []
    for program, *rest in CHECKS:
        command = " ".join((program, *rest))
        print(f"== {command}", flush=True)
        if run_in_foreground([str(programs / program), *rest], environ) != 0:
            failed.append(command)
    print(f"Failed: {', '.join(failed)}" if failed else "All checks passed.", flush=True)
    return 1 if failed else 0
