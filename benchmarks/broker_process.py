"""A broker as operators run it: `manage.py serve` in a process of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from willow_site.embedded.postgres import throwaway_postgres
from willow_site.launcher.foreground import without_settings
from willow_site.processes import ends_with_parent, wait_until
from willow_site.project_folder import PROJECT_FOLDER

START_SECONDS = 120
STOP_SECONDS = 15


@contextmanager
def fresh_broker() -> Iterator["BrokerProcess"]:
    """One on a migrated PostgreSQL of its own, that is still to be started."""
    with throwaway_postgres() as database_url:
        broker = BrokerProcess(database_url)
        try:
            broker.migrate()
            yield broker
        finally:
            broker.remove()


def database_socket(database_url: str) -> dict[str, str]:
    """The setting by which brokers go to a server of this machine as `./willow up` lets them go to its own."""
    with psycopg.connect(database_url) as connection:
        (folder,) = connection.execute("SHOW unix_socket_directories").fetchone() or ("",)
    return {"WILLOW_DATABASE_SOCKET": folder} if folder else {}


class BrokerProcess:
    def __init__(self, database_url: str) -> None:
        self.database_url = database_url
        self._folder = tempfile.TemporaryDirectory(prefix="willow-bench-")
        home = Path(self._folder.name)
        (home / "static").mkdir()
        self._log = home / "log"
        self._port = _free_port()
        self._environ = {
            **without_settings(os.environ),
            "DATABASE_URL": database_url,
            **database_socket(database_url),
            "SECRET_KEY": secrets.token_urlsafe(36),
            "WILLOW_HOME": str(home),
            "WILLOW_PORT": str(self._port),
            "WILLOW_LOG_LEVEL": "warning",
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/connect/"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def migrate(self) -> None:
        self.manage("migrate", "--verbosity", "0")

    def manage(self, *command: str, password: str = "") -> None:
        """Run a command of Django on the broker's database. `password` is that of an account that it makes."""
        environ = {**self._environ, "DJANGO_SUPERUSER_PASSWORD": password}
        subprocess.run([sys.executable, "manage.py", *command], cwd=PROJECT_FOLDER, env=environ, check=True)

    def output_of(self, *command: str) -> str:
        """What a command of Django prints, with the broker's settings."""
        arguments = [sys.executable, "manage.py", *command]
        return subprocess.run(
            arguments, cwd=PROJECT_FOLDER, env=self._environ, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=PROJECT_FOLDER,
                env=self._environ,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGTERM),
            )
        if not wait_until(lambda: self._listens() or self._process_ended(), START_SECONDS) or self._process_ended():
            raise RuntimeError(f"The broker did not start:\n{self._log.read_text()}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def remove(self) -> None:
        self.stop()
        self._folder.cleanup()

    def log(self) -> str:
        """What it complained about."""
        return self._log.read_text()

    def cpu_seconds(self) -> float:
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _process_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None


def memory_bytes(pid: int) -> int:
    """What a process holds in physical memory."""
    resident: int = psutil.Process(pid).memory_info().rss
    return resident


def memory_with_children(pid: int) -> int:
    """Of a process and those that it has started: a node decodes large frames in one of its own."""
    total = memory_bytes(pid)
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            total += child.memory_info().rss
    return total


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
