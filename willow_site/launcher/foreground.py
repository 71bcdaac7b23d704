"""Programs that run in the terminal in place of the launcher."""

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from willow_site.configuration import declared_settings
from willow_site.project_folder import PROJECT_FOLDER


def run_in_foreground(command: list[str], environ: Mapping[str, str], *, folder: Path = PROJECT_FOLDER) -> int:
    """Run a program to its end and return its exit code; signals are its business, not the launcher's.

    The terminal sends Ctrl-C to both: the launcher waits for the program to end, then cleans up.
    """
    with subprocess.Popen(command, env=dict(environ), cwd=folder) as program:
        previous = {
            signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda number, frame: program.terminate()),
        }
        try:
            return program.wait()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without any setting of Willow, so that the operator's do not reach the tests."""
    variables = {declared.variable for declared in declared_settings().values()}
    return {name: value for name, value in environ.items() if name not in variables}
