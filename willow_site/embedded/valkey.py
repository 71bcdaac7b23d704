"""A Valkey of our own in a folder: carries wake-ups between processes, and keeps nothing."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from willow_site.embedded.account import Account, service_account
from willow_site.embedded.binaries import valkey_binary
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.embedded.free_ports import LOOPBACK
from willow_site.embedded.server import EmbeddedServer
from willow_site.processes import ProcessIdentity

PING_SECONDS = 2
PORT_TAKEN = "Address already in use"


class ValkeyServer(EmbeddedServer):
    """Valkey with a password and without files of its own."""

    name = "Valkey"

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"

    def running_process(self) -> ProcessIdentity | None:
        process = ProcessIdentity.read(self._pid_file)
        return process if process and process.runs() else None

    def accepts_connections(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=PING_SECONDS) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answers = connection.makefile("rb")
                return answers.readline() == b"+OK\r\n" and answers.readline() == b"+PONG\r\n"
        except OSError:
            return False

    @property
    def _pid_file(self) -> Path:
        return self.folder / "process"

    @cached_property
    def _service_account(self) -> Account:
        return service_account()

    def _account(self) -> Account:
        return self._service_account

    def _command(self, port: int) -> list[str]:
        return [str(valkey_binary(self._account())), "-"]

    def _standard_input(self, port: int) -> bytes:
        """The configuration; on the command line everyone on the machine could read the password."""
        lines = (
            f"bind {LOOPBACK}",
            f"port {port}",
            f"requirepass {self.password}",
            'save ""',
            "appendonly no",
            "daemonize no",
        )
        return "\n".join(lines).encode()

    def _remember(self, pid: int) -> None:
        process = ProcessIdentity.of(pid)
        if process:
            process.write(self._pid_file)

    def _prepare(self) -> None:
        self._pid_file.unlink(missing_ok=True)

    def _check_failed_start(self, log: str) -> None:
        if PORT_TAKEN not in log:
            reason = (log.splitlines() or ["it gave no reason"])[-1]
            raise EmbeddedServerError(f"Valkey did not start: {reason} (its log is {self.log_file}).")


@contextmanager
def throwaway_valkey() -> Iterator[str]:
    """The URL of an empty server that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="willow-valkey-"))
    server = ValkeyServer(folder, ends_with_starter=True)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)
