"""A PostgreSQL of our own in a folder, for one machine and for tests.

docs/decisions/embedded-servers.md tells why it is done this way.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from willow_site.embedded.account import Account, account_of, service_account
from willow_site.embedded.binaries import PostgresBinaries, postgres_binaries
from willow_site.embedded.errors import EmbeddedServerError
from willow_site.embedded.free_ports import LOOPBACK
from willow_site.embedded.places import data_folder
from willow_site.embedded.server import EmbeddedServer
from willow_site.processes import ProcessIdentity, command_line

USER = "willow"
DATABASE = "willow"

TUNING = {
    "shared_buffers": "256MB",
    "max_connections": "200",
    "synchronous_commit": "on",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    # Statements are short and prepared: compiling them costs more than it saves.
    "jit": "off",
    "track_io_timing": "on",
    # Posts of applications that commit side by side come in the order of their commits.
    "track_commit_timestamp": "on",
    "max_prepared_transactions": "20",
    # A queue's table is rewritten all the time: vacuum it soon, often and without long pauses.
    "autovacuum_naptime": "5s",
    "autovacuum_max_workers": "5",
    "autovacuum_vacuum_cost_limit": "2000",
    "autovacuum_vacuum_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.05",
}

# What the server says when the last one was killed and parts of it are still on their way out.
REMAINS_OF_THE_LAST_ONE = ("pre-existing shared memory block", 'lock file "postmaster.pid"')
PORT_TAKEN = "could not create any TCP/IP sockets"

LONGEST_SOCKET_PATH = 107  # bytes, on Linux


class PostgresServer(EmbeddedServer):
    """PostgreSQL with checksums, SCRAM passwords and settings made for queues."""

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": ends the sessions, then writes everything
    force_signal = signal.SIGQUIT

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@{LOOPBACK}:{self.port}/{DATABASE}"

    @cached_property
    def data(self) -> Path:
        return data_folder(self.folder, service_account())

    @property
    def socket_folder(self) -> str | None:
        """Where whoever may read the data can connect without TCP, if this server listens there."""
        folder = self._folder_for_socket
        return folder if folder and Path(folder, f".s.PGSQL.{self.port}").exists() else None

    @property
    def _folder_for_socket(self) -> str:
        """Empty: the path is none that PostgreSQL takes."""
        folder = str(self.data)
        is_short = len(os.fsencode(f"{folder}/.s.PGSQL.65535")) <= LONGEST_SOCKET_PATH
        return folder if is_short and not set(folder) & set(',"') else ""

    @property
    def _pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def running_process(self) -> ProcessIdentity | None:
        lines = self._pid_file_lines()
        process = ProcessIdentity.of(int(lines[0])) if lines else None
        # After a crash the number may belong to someone else by now.
        return process if process and str(self.data) in command_line(process.pid) else None

    def accepts_connections(self) -> bool:
        lines = self._pid_file_lines()
        if len(lines) < 4:
            return False
        # Nothing else is to be trusted: a dying server still has its process and its files.
        answer = subprocess.run(
            [self._binaries.program("pg_isready"), "-q", "-h", LOOPBACK, "-p", lines[3], "-t", "2"],
            check=False,
        )
        return answer.returncode == 0

    def _pid_file_lines(self) -> list[str]:
        try:
            return self._pid_file.read_text().splitlines()
        except (FileNotFoundError, PermissionError):
            return []

    def _account(self) -> Account:
        """The owner of the data, so that a server runs as before whoever starts it."""
        account = account_of(self.data.stat().st_uid) if self.data.exists() else service_account()
        if os.geteuid() not in (0, account.uid):
            raise EmbeddedServerError(
                f"The data in {self.data} belongs to {account.name}; start Willow as that user or as root, "
                "or choose another home."
            )
        return account

    @cached_property
    def _binaries(self) -> PostgresBinaries:
        version_file = self.data / "PG_VERSION"
        version = int(version_file.read_text()) if version_file.exists() else None
        return postgres_binaries(self._account(), major_version=version)

    def _command(self, port: int) -> list[str]:
        settings = {
            **TUNING,
            "listen_addresses": LOOPBACK,
            "port": str(port),
            "unix_socket_directories": self._folder_for_socket,
        }
        if self._binaries.has_statement_statistics():
            settings["shared_preload_libraries"] = "pg_stat_statements"
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._binaries.program("postgres"), "-D", str(self.data), *options]

    def _check_failed_start(self, log: str) -> None:
        if PORT_TAKEN in log or any(remains in log for remains in REMAINS_OF_THE_LAST_ONE):
            return
        reasons = re.findall(r"FATAL: +(.*)", log) or log.splitlines()[-1:] or ["it gave no reason"]
        raise EmbeddedServerError(f"PostgreSQL did not start: {reasons[-1]} (its log is {self.log_file}).")

    def _standard_input(self, port: int) -> bytes:
        return b""

    def _remember(self, pid: int) -> None:
        """PostgreSQL writes its own file."""

    def _prepare(self) -> None:
        if not self.data.exists():
            self._initialise()
        self._disown_stranger()

    def _disown_stranger(self) -> None:
        """Let the server start although the number in the file of a killed one belongs to a stranger by now.

        PostgreSQL ignores the number of its own parent. The rest of the file must stay: by it PostgreSQL
        notices sessions of the killed server that still use the data.
        """
        lines = self._pid_file_lines()
        if lines and ProcessIdentity.of(int(lines[0])) and self.running_process() is None:
            lines[0] = str(os.getpid())
            self._pid_file.write_text("\n".join(lines) + "\n")

    def _initialise(self) -> None:
        """Make the data aside and then give them their name, so that a crash leaves none or all."""
        account = self._account()
        self.data.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.data.with_name(f"{self.data.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        account.give(unfinished)
        password_file = self.data.with_name(f"{self.data.name}.password")
        password_file.touch(mode=0o600)
        password_file.write_text(self.password)
        account.give(password_file)
        try:
            self._run_once("initdb", *_initdb_options(password_file), "-D", str(unfinished))
        finally:
            password_file.unlink()
        create = f"CREATE DATABASE {DATABASE};\n"
        self._run_once("postgres", "--single", "-D", str(unfinished), "postgres", standard_input=create)
        unfinished.rename(self.data)

    def _run_once(self, program: str, *arguments: str, standard_input: str = "") -> None:
        answer = subprocess.run(
            [self._binaries.program(program), *arguments],
            input=standard_input,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **self._account().popen_arguments(),
        )
        if answer.returncode != 0:
            reason = (answer.stderr.strip() or answer.stdout.strip()).splitlines()[-1]
            raise EmbeddedServerError(f"PostgreSQL's {program} failed: {reason}")


def _initdb_options(password_file: Path) -> list[str]:
    return [
        f"--username={USER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--data-checksums",
    ]


@contextmanager
def throwaway_postgres() -> Iterator[str]:
    """The URL of an empty server that is gone afterwards, with the durability of a real one."""
    folder = Path(tempfile.mkdtemp(prefix="willow-postgres-"))
    folder.chmod(0o711)  # its account must pass through
    server = PostgresServer(folder, ends_with_starter=True)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(server.data, ignore_errors=True)
        shutil.rmtree(folder)
