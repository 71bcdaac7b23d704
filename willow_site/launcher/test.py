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


def run(arguments: list[str]) -> int:
    return on_throwaway_servers([sys.executable, "-m", "pytest", *arguments_for_pytest(arguments)])


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
