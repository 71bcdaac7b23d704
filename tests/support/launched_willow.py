"""A real `./willow up` for tests, and what one can ask of it."""

import os
import queue
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import psutil
import psycopg

from willow_site.embedded.postgres import PostgresServer
from willow_site.launcher.foreground import without_settings
from willow_site.processes import ProcessIdentity
from willow_site.project_folder import PROJECT_FOLDER

# Seconds until a test gives up on something that should happen. A first start makes a PostgreSQL and all its tables,
# which takes minutes on a machine that does other work.
PATIENCE = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_willow(*arguments: str, checkout: Path = PROJECT_FOLDER, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the launcher to its end."""
    return subprocess.run(
        [str(checkout / "willow"), *arguments],
        env={**without_settings(os.environ), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class LaunchedWillow:
    """`./willow up` on a home; leaving the block stops it."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        port: int,
        checkout: Path = PROJECT_FOLDER,
        path: str = os.environ["PATH"],
        variables: Mapping[str, str] = MappingProxyType({}),
        **popen_arguments: Any,
    ) -> None:
        self.home = home
        self.port = port
        self.output: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            [str(checkout / "willow"), "up", "--home", str(home), "--port", str(port), *arguments],
            env={**without_settings(os.environ), "PATH": path, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **popen_arguments,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for_line(self, beginning: str) -> str:
        """The next line of output that begins so."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            assert line is not None, "Willow ended:\n" + "\n".join(self.output)
            self.output.append(line)
            if line.startswith(beginning):
                return line

    def wait_until_ready(self) -> Self:
        self.wait_for_line("Willow is ready")
        return self

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it with a signal and return its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self._process.wait(PATIENCE)

    def process(self, name: str) -> psutil.Process:
        """One of its processes, by the name of its file in the home."""
        identity = ProcessIdentity.read(self.home / "processes" / name)
        assert identity is not None
        return psutil.Process(identity.pid)

    def postmaster(self) -> psutil.Process:
        identity = postgres_of(self.home).running_process()
        assert identity is not None
        return psutil.Process(identity.pid)

    def processes(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)


def postgres_of(home: Path) -> PostgresServer:
    return PostgresServer(home / "postgres", ends_with_starter=False)


def commit_row(home: Path, text: str) -> None:
    with psycopg.connect(postgres_of(home).url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS committed (text text)")
        connection.execute("INSERT INTO committed VALUES (%s)", [text])


def committed_rows(home: Path) -> list[str]:
    with psycopg.connect(postgres_of(home).url) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM committed ORDER BY text")]


def kill(process: psutil.Process) -> None:
    """kill -9, and wait until it is gone."""
    process.kill()
    psutil.wait_procs([process], timeout=PATIENCE)
