"""Three brokers, two reapers, PostgreSQL and Valkey, each reached through the network of faults/willow/network.py."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any, LiteralString, Protocol
from urllib.parse import urlsplit

import psutil
import psycopg

from faults.willow.clocks import with_clock
from faults.willow.load.queues import LoadQueue
from faults.willow.network import Network, Wire
from tests.support.cluster import Node, WillowProcess
from willow_site.embedded.postgres import PostgresServer
from willow_site.embedded.valkey import ValkeyServer
from willow_site.launcher.foreground import without_settings
from willow_site.processes import ProcessIdentity, wait_until
from willow_site.project_folder import PROJECT_FOLDER

NODES, REAPERS = 3, 2
OWN_CONNECT_SECONDS = 5
PATIENT_CONNECT_SECONDS = 300  # for what a run cannot do without: what it has found must not be lost on a busy machine
START_SECONDS = 600
POSTGRES = "postgres"  # its folder
MOST_LOG: LiteralString = "512MB"  # PostgreSQL's data may be on a small disk in memory


class FaultyCluster:
    """Everything that a fault can befall. Its clients reach brokers by `client_wires`."""

    def __init__(self, folder: Path, code: Path = PROJECT_FOLDER, *, proxied: bool = True) -> None:
        self.folder = folder
        self.code = code  # of the version that brokers and reapers run
        (self.folder / "static").mkdir()
        self._proxied = proxied  # otherwise brokers reach PostgreSQL and Valkey directly
        self.network = Network()
        self.postgres = PostgresServer(self.folder / POSTGRES, ends_with_starter=True)
        self.valkey = ValkeyServer(self.folder / "valkey", ends_with_starter=True)
        self._url = ""
        self.nodes: list[Node] = []
        self.reapers: list[WillowProcess] = []
        self.storage_wires: list[Wire] = []  # of the brokers, and the last one of the reapers
        self.valkey_wires: list[Wire] = []
        self.client_wires: list[Wire] = []

    def start(self) -> None:
        self._url = self.postgres.start()
        self.query(f"ALTER SYSTEM SET max_wal_size = '{MOST_LOG}'")
        self.query("SELECT pg_reload_conf()")
        self.valkey.start()
        self.migrate()
        for number in range(NODES):
            environ = self._wired_environ() | with_clock(self.clock_file(number))
            node = Node(f"node-{number}", environ, self.folder / f"node-{number}.log")
            node.code = self.code
            self.nodes.append(node)
            self.client_wires.append(self.network.wire(node.port))
            node.start()
        reaper_environ = self._wired_environ()
        for number in range(REAPERS):
            self.reapers.append(WillowProcess("reaper", reaper_environ, self.folder / f"reaper-{number}.log"))
            self.reapers[-1].code = self.code
            self.reapers[-1].start()
        wait_for(self.nodes)

    def migrate(self) -> None:
        environ = self._environ(self.postgres.url, self.valkey.url)
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=self.code, env=environ, check=True)

    def _wired_environ(self) -> dict[str, str]:
        if not self._proxied:
            return self._environ(self.postgres.url, self.valkey.url)
        self.storage_wires.append(self.network.wire(self.postgres.port))
        self.valkey_wires.append(self.network.wire(self.valkey.port))
        return self._environ(
            _through(self.storage_wires[-1], self.postgres.url), _through(self.valkey_wires[-1], self.valkey.url)
        )

    def _environ(self, database_url: str, redis_url: str) -> dict[str, str]:
        return {
            **without_settings(os.environ),
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "SECRET_KEY": secrets.token_urlsafe(36),
            "WILLOW_HOME": str(self.folder),
            "WILLOW_LOG_LEVEL": "warning",
            "WILLOW_DRAIN_SECONDS": "3",
        }

    def clock_file(self, node: int) -> Path:
        return self.folder / f"clock-{node}"

    @property
    def urls(self) -> list[str]:
        return [wire.url for wire in self.client_wires]

    def connect(self, seconds: int = OWN_CONNECT_SECONDS) -> psycopg.Connection[Any]:
        """To PostgreSQL itself, past the network."""
        return psycopg.connect(self._url, autocommit=True, connect_timeout=seconds)

    def query(self, statement: LiteralString, *parameters: Any) -> list[Any]:
        with self.connect(PATIENT_CONNECT_SECONDS) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def make_queues(self, queues: Iterable[LoadQueue]) -> None:
        """As an operator makes them."""
        for queue in queues:
            self.query(
                "INSERT INTO queues_queue (name, tags, kind, retry_limit, group_in_flight, max_in_flight, keep_bodies,"
                " heartbeat_timeout, retry_delay, retry_backoff, retry_delay_max)"
                " VALUES (%s, '{}', %s, %s, %s, %s, %s, 30, 0, 1, 60)",
                *astuple(queue),
            )

    def go_on_with(self, server: PostgresServer) -> None:
        """From now on that one is the storage of everybody."""
        self.postgres = server
        self._url = server.url
        for wire in self.storage_wires:
            wire.lead_to(server.port)
            wire.reset()

    def logs(self) -> dict[str, str]:
        return {process.log.name: process.log.read_text() for process in (*self.nodes, *self.reapers)}

    def stop(self) -> None:
        for process in (*self.reapers, *self.nodes):
            process.kill()
        self.network.stop()
        self.valkey.stop()
        self.postgres.stop()
        shutil.rmtree(self.postgres.data, ignore_errors=True)


def wait_for(nodes: list[Node]) -> None:
    """Until they take connections, on however slow a machine."""
    for node in nodes:
        wait_until(partial(_has_started_or_ended, node), START_SECONDS)
        if not node.runs or not node.accepts_connections():
            raise RuntimeError(f"{node.name} did not start:\n{node.log.read_text()}")


def _has_started_or_ended(node: Node) -> bool:
    return node.accepts_connections() or not node.runs


class Server(Protocol):
    def running_process(self) -> ProcessIdentity | None: ...


def signal_server(server: Server, number: signal.Signals) -> None:
    """To a server's first process and, for what is to stop at once, to all its children."""
    process = server.running_process()
    if process is None:
        return
    family = [psutil.Process(process.pid)]
    if number != signal.SIGTERM:
        family += family[0].children(recursive=True)
    for member in family:
        try:
            member.send_signal(number)
        except psutil.NoSuchProcess:
            continue
    if number == signal.SIGKILL:
        psutil.wait_procs(family, timeout=30)


def _through(wire: Wire, url: str) -> str:
    parts = urlsplit(url)
    account, _, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{account}@127.0.0.1:{wire.port}").geturl()
