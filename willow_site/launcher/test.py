"""`./willow test`: the test suite on throwaway servers; it never touches a Willow that is up."""

import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from willow_site.embedded.postgres import throwaway_postgres
from willow_site.embedded.valkey import throwaway_valkey
from willow_site.launcher.browser import arguments_for_pytest
from willow_site.launcher.foreground import run_in_foreground, without_settings

# More would not be faster: each process of tests has brokers and a PostgreSQL at work beside it.
MOST_PROCESSES = 4


def run(arguments: list[str]) -> int:
    pytest = [sys.executable, "-m", "pytest", *arguments_for_pytest(arguments)]
    processes = _processes_for(arguments)
    if processes == 1:
        return on_throwaway_servers(pytest)
    side_by_side = ["--numprocesses", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    with ExitStack() as stack:
        servers = [stack.enter_context(throwaway_servers()) for _ in range(processes)]
        own_servers = {"SERVERS_OF_TESTS": json.dumps(servers), "PYTEST_PLUGINS": "tests.support.own_servers"}
        return run_in_foreground(pytest + side_by_side, without_settings(os.environ) | servers[0] | own_servers)


def _processes_for(arguments: list[str]) -> int:
    """A run of all tests uses the machine's cores; a few chosen ones are sooner done by one process."""
    if any(argument.startswith("tests") for argument in arguments):
        return 1
    return min(os.cpu_count() or 1, MOST_PROCESSES)


def on_throwaway_servers(command: list[str]) -> int:
    """Run a command that needs a database, a Redis and a home; its exit code."""
    with throwaway_servers() as servers:
        return run_in_foreground(command, without_settings(os.environ) | servers)


@contextmanager
def throwaway_servers() -> Iterator[dict[str, str]]:
    """A PostgreSQL, a Redis and a home, as settings."""
    with (
        throwaway_postgres() as database_url,
        throwaway_valkey() as redis_url,
        tempfile.TemporaryDirectory(prefix="willow-home-") as home,
    ):
        (Path(home) / "static").mkdir()  # empty, but WhiteNoise warns when it is missing
        yield {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "SECRET_KEY": secrets.token_urlsafe(36),
            "WILLOW_HOME": home,
        }
