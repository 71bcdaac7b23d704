"""What every embedded server has in common: one server for any number of starters, and an orderly end.

A server belongs to a folder, not to the process that started it: whoever needs it starts it or joins it, and
the last one to leave stops it. The folder holds its password, its port, its log and the locks.
"""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO

from willow_site.embedded.account import Account
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.embedded.free_ports import remembered_port
from willow_site.file_locks import UsersLock, exclusive_lock
from willow_site.processes import POLL_SECONDS, ProcessIdentity, ends_with_parent
from willow_site.secret_files import kept_secret

START_SECONDS = 120  # crash recovery of a large database takes its time
STOP_SECONDS = 60
LOG_LIMIT = 10 * 1024 * 1024  # bytes; beyond it the next start begins a new log and keeps the old one


def _closed_to_others(log_file: Path) -> BinaryIO:
    """The log, to append to: statements in it can hold what is in messages, so only its owner may read it."""
    log = os.fdopen(os.open(log_file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "ab")
    os.fchmod(log.fileno(), 0o600)  # also one that an earlier version made
    return log


class EmbeddedServer(ABC):
    """A server on 127.0.0.1 with a generated password, kept in a folder."""

    name: str
    stop_signal = signal.SIGTERM
    force_signal = signal.SIGKILL

    def __init__(self, folder: Path, *, ends_with_starter: bool) -> None:
        """`ends_with_starter`: it ends also when this process is killed, where the system can do that."""
        self.folder = folder
        self.log_file = folder / "log"
        self._port_file = folder / "port"
        self._start_lock = folder / "lock"
        self._users = UsersLock(folder / "users")
        self._ends_with_starter = ends_with_starter
        self._child: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """The address with the password; known once the server was started."""

    @abstractmethod
    def running_process(self) -> ProcessIdentity | None:
        """The server process of this folder if there is one, whoever started it, ready or not."""

    @abstractmethod
    def accepts_connections(self) -> bool:
        """Whether the running server takes commands now."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make what the server needs before its first start, and clear away what the last one left."""

    @abstractmethod
    def _account(self) -> Account: ...

    @abstractmethod
    def _command(self, port: int) -> list[str]: ...

    @abstractmethod
    def _standard_input(self, port: int) -> bytes: ...

    @abstractmethod
    def _check_failed_start(self, log: str) -> None:
        """Raise EmbeddedServerError unless another try can help."""

    @abstractmethod
    def _remember(self, pid: int) -> None:
        """Note the new process where `running_process` looks for it, unless the server does so itself."""

    @property
    def port(self) -> int:
        return int(self._port_file.read_text())

    @property
    def password(self) -> str:
        return kept_secret(self.folder / "password")

    def start(self) -> str:
        """Make sure that the server runs, and return its URL."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)  # the account of the server must pass through; the secrets inside are closed
        with exclusive_lock(self._start_lock):
            self._users.join()
            self._start_or_join()
        return self.url

    def stop(self) -> None:
        """Leave the server, and end it if nobody else uses it."""
        if not self._users.joined:
            return
        with exclusive_lock(self._start_lock):
            process = self.running_process() if self._users.leave() else None
            if process:
                process.end(self.stop_signal, patience=STOP_SECONDS, last=self.force_signal)
                if self._child and self._child.pid == process.pid:
                    self._child.wait()

    def _start_or_join(self) -> None:
        """Wait for a server that is on its way up or down, and start one when there is none."""
        deadline = time.monotonic() + START_SECONDS
        log_begins: int | None = None
        while time.monotonic() < deadline:
            if self.running_process():
                if self.accepts_connections():
                    return
            elif self._child is None or self._child.poll() is not None:
                if log_begins is not None:
                    self._check_failed_start(self._log_from(log_begins))
                self._prepare()
                log_begins = self._spawn()
            time.sleep(POLL_SECONDS)
        raise EmbeddedServerError(
            f"{self.name} was not ready within {START_SECONDS} seconds; its log is {self.log_file}."
        )

    def _spawn(self) -> int:
        """Start the process and return where in the log its lines begin."""
        port = remembered_port(self._port_file)
        self._limit_log()
        with _closed_to_others(self.log_file) as log:
            log_begins = log.tell()
            self._child = subprocess.Popen(
                self._command(port),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd="/",
                # Ctrl-C in the terminal is for the launcher, which stops its servers in order.
                start_new_session=True,
                preexec_fn=ends_with_parent(self.stop_signal) if self._ends_with_starter else None,
                **self._account().popen_arguments(),
            )
        self._remember(self._child.pid)
        assert self._child.stdin is not None
        with self._child.stdin as standard_input:
            standard_input.write(self._standard_input(port))
        return log_begins

    def _limit_log(self) -> None:
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_LIMIT:
            self.log_file.replace(self.log_file.with_suffix(".old"))

    def _log_from(self, position: int) -> str:
        return self.log_file.read_bytes()[position:].decode(errors="replace")
