"""PostgreSQL dies for good, and a streaming replica takes its place."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg

from faults.willow.cluster import POSTGRES, FaultyCluster, signal_server
from faults.willow.troubles import Scene, Trouble
from willow_site.embedded.account import service_account
from willow_site.embedded.binaries import postgres_binaries
from willow_site.embedded.postgres import PostgresServer
from willow_site.processes import wait_until

PATIENCE = 120  # seconds
UNDER_LOAD_SECONDS = 2.0


@contextmanager
def failover(scene: Scene, synchronous: bool) -> Iterator[None]:
    """The replica is made under load, follows for a while, and is promoted when the first server was killed."""
    cluster = scene.cluster
    former = cluster.postgres
    replica = _replica_of(former, cluster.folder / POSTGRES / f"replica-{time.monotonic_ns()}")
    try:
        replica.start()
        if synchronous:
            cluster.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
            cluster.query("SELECT pg_reload_conf()")
        _wait_until_it_follows(cluster, "sync" if synchronous else "async")
        time.sleep(UNDER_LOAD_SECONDS)
    finally:
        signal_server(former, signal.SIGKILL)
    with psycopg.connect(replica.url, autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")
    cluster.go_on_with(replica)
    shutil.rmtree(former.data, ignore_errors=True)
    yield


def _replica_of(server: PostgresServer, folder: Path) -> PostgresServer:
    account = service_account()
    folder.mkdir(mode=0o711)
    shutil.copy(server.folder / "password", folder / "password")
    replica = PostgresServer(folder, ends_with_starter=True)
    replica.data.mkdir(mode=0o700)
    account.give(replica.data)
    subprocess.run(
        [postgres_binaries(account).program("pg_basebackup"), "-D", str(replica.data), "-R", "-X", "stream",
         "-c", "fast", "-d", server.url],
        check=True, capture_output=True, cwd="/", **account.popen_arguments(),
    )  # fmt: skip
    return replica


def _wait_until_it_follows(cluster: FaultyCluster, state: str) -> None:
    follows = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"
    if not wait_until(lambda: bool(cluster.query(follows, state)), PATIENCE):
        raise RuntimeError("the replica does not follow")


FAILOVER_TROUBLES = (
    Trouble(
        "failover to a synchronous replica",
        "storage",
        partial(failover, synchronous=True),
        (0, 0),
        crashes_storage=True,
    ),
)
LOSING_TROUBLES = (
    Trouble(
        "failover to an asynchronous replica",
        "storage",
        partial(failover, synchronous=False),
        (0, 0),
        crashes_storage=True,
        loses_storage=True,
    ),
)
