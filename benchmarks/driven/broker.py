"""A driven broker as seen from outside: its process, its database and the orders it gets."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, LiteralString

from psycopg import connect, sql

from benchmarks.broker_process import database_socket
from benchmarks.driven import application
from benchmarks.driven.counters import Counters
from willow_site.launcher.foreground import without_settings
from willow_site.processes import ends_with_parent, wait_until
from willow_site.project_folder import PROJECT_FOLDER

BODY_BYTES = 100
FILL_GROUP = 500  # messages
REAPER_SECONDS = 600
# Nothing that happens now and then may happen while a cost is measured, and nothing may end by itself.
RHYTHMS = {
    "WILLOW_NODE_HEARTBEAT": "1800",
    "WILLOW_NODE_LAPSE": "3600",
    "WILLOW_POLL_SECONDS": "3600",
    "WILLOW_HEARTBEAT_TIMEOUT": "86400",
    "WILLOW_DEDUPE_SECONDS": "86400",
    "WILLOW_REAPER_SECONDS": "0.1",
}


class DrivenBroker:
    """A version of Willow, in a checkout's folder, on a database of its own on a server that others use too."""

    def __init__(
        self, server_url: str, database: str, *, checkout: Path = PROJECT_FOLDER, copied_from: str | None = None
    ) -> None:
        """`copied_from` names a database that has the version's tables already."""
        self._server_url = server_url
        self._database = database
        self._checkout = checkout
        self._home = tempfile.TemporaryDirectory(prefix="willow-driven-")
        (Path(self._home.name) / "static").mkdir()
        self.database_url = _make_database(server_url, database, copied_from or "template1")
        self._environ = _environ(self.database_url, self._home.name)
        if checkout == PROJECT_FOLDER:  # earlier versions know only TCP
            self._environ |= database_socket(self.database_url)
        if copied_from is None:
            migrate(self.database_url, checkout)
        self._process = subprocess.Popen(
            [sys.executable, application.__file__],
            cwd=checkout,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=ends_with_parent(signal.SIGKILL),
        )
        self.counters = Counters(self.database_url)

    def close(self) -> None:
        self.counters.close()
        self._process.kill()  # it may hold a million claims, which it would fail one after the other
        self._process.communicate()
        self._home.cleanup()
        _administer(self._server_url, "DROP DATABASE {} WITH (FORCE)", self._database)

    def order(
        self,
        order: str,
        queue: str = "",
        count: int = 1,
        group: int = 1,
        *,
        connection: str = "main",
        unique: Sequence[str] = (),
        **fields: Any,
    ) -> float:
        """Let it do something, and wait until it is done; returns how many seconds that took."""
        given = {"order": order, "queue": queue, "count": count, "group": group, "connection": connection}
        given |= {"unique": list(unique), "fields": fields, "body_bytes": BODY_BYTES}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process of the broker ended"}
        if "error" in answer:
            raise RuntimeError(f"{order}: {answer['error']}")
        seconds: float = answer["seconds"]
        return seconds

    def pass_through(self, queue: str, count: int) -> None:
        """A backlog of that many messages, all of which are then taken and finished."""
        self.order("post", queue, count, FILL_GROUP)
        while count > 0:
            size = min(count, FILL_GROUP)
            self.order("fetch", queue, size, size)
            self.order("finish", queue, size, size)
            count -= size

    def reap(self) -> None:
        """Let the reaper do a round of all its duties, each until there is no more to do."""
        duties = Duties(self.counters)
        reaper = subprocess.Popen(
            [sys.executable, "manage.py", "reaper"],
            cwd=self._checkout,
            env=self._environ,
            preexec_fn=ends_with_parent(signal.SIGTERM),
        )
        try:
            if not wait_until(duties.were_all_done, REAPER_SECONDS):
                raise RuntimeError(f"The reaper did not end its round within {REAPER_SECONDS} seconds.")
        finally:
            reaper.terminate()
            reaper.wait()


class Duties:
    """What a reaper that was started just now has done."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._before = counters.duty_runs()
        self._first_runs: dict[str, object] = {}

    def were_all_done(self) -> bool:
        """Whether one of them was done for the second time: they are done in turn, so the others were done too."""
        for duty, ran_at in self._counters.duty_runs().items():
            if ran_at != self._before.get(duty) and self._first_runs.setdefault(duty, ran_at) != ran_at:
                return True
        return False


def migrate(database_url: str, checkout: Path = PROJECT_FOLDER) -> None:
    """Make a version's tables."""
    with tempfile.TemporaryDirectory(prefix="willow-driven-") as home:
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(command, cwd=checkout, env=_environ(database_url, home), check=True)


def _environ(database_url: str, home: str) -> dict[str, str]:
    return {
        **without_settings(os.environ),
        **RHYTHMS,
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "willow_site.settings",
        "SECRET_KEY": secrets.token_urlsafe(36),
        "WILLOW_HOME": home,
        "WILLOW_LOG_LEVEL": "error",
    }


def _make_database(server_url: str, name: str, template: str) -> str:
    _administer(server_url, "CREATE DATABASE {} TEMPLATE {}", name, template)
    address, _, _ = server_url.rpartition("/")
    return f"{address}/{name}"


def _administer(server_url: str, command: LiteralString, *names: str) -> None:
    with connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL(command).format(*map(sql.Identifier, names)))
