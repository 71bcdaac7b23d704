"""A PostgreSQL that a test may stop and kill."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.databases import Databases, query
from tests.support.launched_willow import kill
from willow_site.embedded.postgres import PostgresServer


class Storage:
    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.databases = Databases(server.url)

    def start(self) -> None:
        """On the same data and at the same address as before."""
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def kill(self) -> None:
        """kill -9 of the postmaster; its sessions end as soon as they notice."""
        process = self._server.running_process()
        assert process is not None
        kill(psutil.Process(process.pid))

    def flush_only_for_commits(self) -> None:
        """Nothing but a commit that asks for it brings the log to the disk, so that one which does not is lost."""
        query(self._server.url, "ALTER SYSTEM SET wal_writer_delay = '10s'")
        query(self._server.url, "SELECT pg_reload_conf()")


@contextmanager
def running_storage() -> Iterator[Storage]:
    folder = Path(tempfile.mkdtemp(prefix="willow-storage-"))
    folder.chmod(0o711)  # the account of PostgreSQL must pass through
    server = PostgresServer(folder, ends_with_starter=True)
    server.start()
    try:
        yield Storage(server)
    finally:
        server.stop()
        shutil.rmtree(server.data, ignore_errors=True)
        shutil.rmtree(folder)
