"""Real broker processes on a database of their own."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn

from tests.support.databases import Databases, query
from tests.support.launched_willow import free_port
from willow_site.launcher.foreground import without_settings
from willow_site.processes import ends_with_parent, wait_until
from willow_site.project_folder import PROJECT_FOLDER

PATIENCE = 90  # seconds until a test gives up on something that should happen, also on a machine that does other work
THROUGH_RESTARTS = 4 * PATIENCE  # the same for what waits while nodes are started again

# Fast, so that no test waits long for something that happens now and then; and slow enough that a busy machine does
# not take a living node for dead, and that idle processes leave the machine to the tests.
RHYTHMS = {
    "WILLOW_NODE_HEARTBEAT": "0.5",
    "WILLOW_NODE_LAPSE": "3",
    "WILLOW_POLL_SECONDS": "0.5",
    "WILLOW_REAPER_SECONDS": "0.3",
}
KEPT_SETTINGS = ("SECRET_KEY", "WILLOW_HOME")


class WillowProcess:
    """A command of manage.py in a process of its own, which writes to a log."""

    def __init__(self, command: str, environ: dict[str, str], log: Path) -> None:
        self._command = command
        self._environ = environ
        self.log = log
        self.code = PROJECT_FOLDER  # what it runs the next time that it is started
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", self._command],
                cwd=self.code,
                env=self._environ,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.runs and self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)


class Node(WillowProcess):
    """A broker: `manage.py serve`."""

    def __init__(self, name: str, environ: dict[str, str], log: Path) -> None:
        self.name = name
        self.port = free_port()
        settings = {"WILLOW_NODE_NAME": name, "WILLOW_PORT": str(self.port)}
        super().__init__("serve", {**environ, **settings}, log)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/connect/"

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> None:
        ready = wait_until(lambda: self.accepts_connections() or not self.runs, PATIENCE)
        assert ready and self.runs, f"{self.name} did not start:\n{self.log.read_text()}"

    def accepts_connections(self) -> bool:
        """A socket that happens to get this very port while nobody listens there is connected to itself."""
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as probe:
                return bool(probe.getsockname() != probe.getpeername())
        except OSError:  # refused, or cut off again: a node that stops lets connections go that it has not taken yet
            return False


class Cluster:
    """Nodes, and a reaper if asked for, on one database."""

    def __init__(self, database_url: str, folder: Path, settings: dict[str, str]) -> None:
        self.database_url = database_url
        kept = {name: os.environ[name] for name in KEPT_SETTINGS if name in os.environ}
        self._environ = {
            **without_settings(os.environ),
            **kept,
            **RHYTHMS,
            "DATABASE_URL": database_url,
            **settings,
        }
        self._folder = folder
        self.nodes: list[Node] = []
        self._reapers: list[WillowProcess] = []

    @property
    def node(self) -> Node:
        """The only one, or the first."""
        return self.nodes[0]

    def add_node(self) -> Node:
        """A node on its way up."""
        name = f"node-{len(self.nodes)}"
        node = Node(name, self._environ, self._folder / f"{name}.log")
        self.nodes.append(node)
        node.start()
        return node

    def add_reaper(self) -> WillowProcess:
        reaper = WillowProcess("reaper", self._environ, self._folder / f"reaper-{len(self._reapers)}.log")
        self._reapers.append(reaper)
        reaper.start()
        return reaper

    def query(self, statement: LiteralString, *parameters: Any) -> list[Any]:
        """Look into the database, or change it as an operator would."""
        return query(self.database_url, statement, *parameters)

    @contextmanager
    def readers_held_up(self) -> Iterator[None]:
        """Fetches, pops and finishes wait at the storage meanwhile, posts do not."""
        with psycopg.connect(self.database_url) as blocking:
            blocking.execute("LOCK TABLE delivery_pendingnotice IN EXCLUSIVE MODE")
            yield

    @contextmanager
    def flushes_held_up(self) -> Iterator[None]:
        """Commits that must be safe before they are answered wait meanwhile, others do not.

        PostgreSQL is told of a standby that does not exist, and the first kind waits for it: also one of ours, by which
        one sees that it has begun.
        """
        with closing(psycopg.connect(self.database_url, autocommit=True)) as ours:
            try:
                self.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
                self.query("SELECT pg_reload_conf()")
                assert wait_until(lambda: self._is_held_up(ours.pgconn), PATIENCE)
                yield
            finally:
                self.query("ALTER SYSTEM RESET synchronous_standby_names")
                self.query("SELECT pg_reload_conf()")
                assert wait_until(lambda: not self.held_up(), PATIENCE)

    def _is_held_up(self, ours: PGconn) -> bool:
        """Whether a commit waits. What we commit before PostgreSQL has heard of the standby goes through."""
        while not ours.is_busy() and ours.get_result() is not None:
            pass
        if ours.transaction_status == TransactionStatus.IDLE:
            ours.send_query(b"SELECT pg_logical_emit_message(true, 'tests', 'm')")
        ours.flush()
        ours.consume_input()
        return bool(self.held_up())

    def held_up(self) -> list[str]:
        """The connections whose commits wait."""
        rows = self.query(
            "SELECT application_name FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event = 'SyncRep'"
        )
        return [name for (name,) in rows]

    def stop(self) -> None:
        """End everything. Nothing may have gone wrong in a way that nobody foresaw."""
        processes = [*self._reapers, *self.nodes]
        for process in processes:
            process.stop()
        for process in processes:
            log = process.log.read_text()
            assert "Traceback" not in log, log


@contextmanager
def running_cluster(
    databases: Databases,
    folder: Path,
    *,
    nodes: int = 1,
    reaper: bool = False,
    database_options: str = "",
    **settings: str,
) -> Iterator[Cluster]:
    """`settings` are further variables of the environment, `database_options` the query of the database's URL."""
    database_url = databases.make() + database_options
    cluster = Cluster(database_url, folder, settings)
    try:
        if reaper:
            cluster.add_reaper()
        for node in [cluster.add_node() for _ in range(nodes)]:
            node.wait_until_ready()
        yield cluster
        cluster.stop()
    finally:
        for process in (*cluster._reapers, *cluster.nodes):
            process.kill()
        databases.drop(database_url)
