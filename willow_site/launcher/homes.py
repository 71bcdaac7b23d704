"""The home: the folder in which a node keeps what is its own."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from willow_site.configuration import Configuration
from willow_site.embedded.postgres import PostgresServer
from willow_site.embedded.valkey import ValkeyServer
from willow_site.file_locks import open_lock, take_lock
from willow_site.launcher.errors import LauncherError
from willow_site.secret_files import kept_secret


@dataclass(frozen=True)
class Holder:
    """The `./willow up` that runs on a home."""

    pid: int
    port: int
    since: str


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = folder / "processes"
        self._lock_file = folder / "up.lock"

    def make(self) -> None:
        """Make the folder if need be; as root, the account of the embedded servers must pass through it."""
        if self.folder.exists() and os.geteuid() not in (0, self.folder.stat().st_uid):
            raise LauncherError(f"The home {self.folder} belongs to another user; choose your own with --home.")
        try:
            if not self.folder.exists():
                self.folder.mkdir(parents=True)
                self.folder.chmod(0o711 if os.geteuid() == 0 else 0o700)  # whatever the umask
            self.processes.mkdir(exist_ok=True)
        except OSError as error:
            reason = f"The home {self.folder} cannot be created: {error.strerror}"
            raise LauncherError(f"{reason}; choose another with --home.") from None

    def secret_key(self) -> str:
        return kept_secret(self.folder / "secret-key")

    def postgres(self, *, ends_with_starter: bool) -> PostgresServer:
        return PostgresServer(self.folder / "postgres", ends_with_starter=ends_with_starter)

    def has_postgres(self) -> bool:
        return (self.folder / "postgres").exists()

    def valkey(self, *, ends_with_starter: bool) -> ValkeyServer:
        return ValkeyServer(self.folder / "valkey", ends_with_starter=ends_with_starter)

    @contextmanager
    def held(self, *, port: int) -> Iterator[None]:
        """Be the only `./willow up` on this home."""
        descriptor = open_lock(self._lock_file)
        try:
            if not take_lock(descriptor):
                raise LauncherError(self._held_sentence())
            holder = Holder(os.getpid(), port, time.strftime("%Y-%m-%d %H:%M:%S"))
            self._lock_file.write_text(json.dumps(asdict(holder)))
            yield
        finally:
            os.close(descriptor)

    def holder(self) -> Holder | None:
        """Who runs on this home now."""
        if not self._lock_file.exists():
            return None
        descriptor = open_lock(self._lock_file)
        try:
            return None if take_lock(descriptor) else self._written_holder()
        finally:
            os.close(descriptor)

    def _written_holder(self) -> Holder | None:
        try:
            return Holder(**json.loads(self._lock_file.read_text()))
        except ValueError:  # it has only just taken the lock
            return None

    def _held_sentence(self) -> str:
        holder = self._written_holder()
        who = f"process {holder.pid} on port {holder.port} since {holder.since}" if holder else "another process"
        return f"The home {self.folder} is in use by {who}; stop it, or choose another home with --home."


def refuse_without_data(configuration: Configuration, home: Home) -> None:
    """A command that only uses a database must not make an empty one where somebody forgot to say which."""
    if not configuration.database_url and not home.has_postgres():
        raise LauncherError(
            f"There is no Willow in {home.folder} yet: run `./willow up` first, or name its home with --home."
        )
