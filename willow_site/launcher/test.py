"""`./willow test`: the test suite on throwaway servers; it never touches a Willow that is up."""

import os
import secrets
import sys
import tempfile
from pathlib import Path

from willow_site.embedded.postgres import throwaway_postgres
from willow_site.embedded.valkey import throwaway_valkey
from willow_site.launcher.browser import arguments_for_pytest
from willow_site.launcher.foreground import run_in_foreground, without_settings

# More would not be faster: each process of tests has brokers and a PostgreSQL at work beside it.
MOST_PROCESSES = 4


def run(arguments: list[str]) -> int:
    pytest = [sys.executable, "-m", "pytest", *_side_by_side(arguments), *arguments_for_pytest(arguments)]
    return on_throwaway_servers(pytest)


def _side_by_side(arguments: list[str]) -> list[str]:
    """Let a run of all tests use the machine's cores; a few chosen ones are sooner done by one process."""
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if processes == 1 or any(argument.startswith("tests") for argument in arguments):
        return []
    return ["--numprocesses", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]


def on_throwaway_servers(command: list[str]) -> int:
    """Run a command that needs a database, a Redis and a home; its exit code."""
    with (
        throwaway_postgres() as database_url,
        throwaway_valkey() as redis_url,
        tempfile.TemporaryDirectory(prefix="willow-home-") as home,
    ):
        (Path(home) / "static").mkdir()  # empty, but WhiteNoise warns when it is missing
        environ = {
            **without_settings(os.environ),
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "SECRET_KEY": secrets.token_urlsafe(36),
            "WILLOW_HOME": home,
        }
        return run_in_foreground(command, environ)
