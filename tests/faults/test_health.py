"""/healthz and /readyz: what load balancers and supervisors are told, and when."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.cluster import PATIENCE, Cluster, Node, running_cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.scrapes import fetch, scrape
from tests.support.storage import Storage
from willow_site.processes import ends_with_parent, wait_until
from willow_site.project_folder import PROJECT_FOLDER

ALL_WELL = dict.fromkeys(("node", "database", "migrations", "reaper", "heartbeat", "messages"), "ok")
TRACES = """
    SELECT (SELECT count(*) FROM queues_queue), (SELECT count(*) FROM delivery_message),
           (SELECT count(*) FROM delivery_journal), (SELECT count(*) FROM delivery_endedcount)
"""


@pytest.fixture(scope="module")
def cluster(storage: Storage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One that lets nobody in without a key."""
    folder = tmp_path_factory.mktemp("cluster")
    with running_cluster(storage.databases, folder, reaper=True, WILLOW_ANONYMOUS="none") as cluster:
        yield cluster


def readiness(node: Node) -> tuple[int, dict[str, str]]:
    status, text, _ = fetch(node, "/readyz")
    answer: dict[str, Any] = json.loads(text)
    assert answer["status"] == ("ready" if status == 200 else "not ready")
    return status, answer["checks"]


def becomes(node: Node, status: int, **checks: str) -> None:
    """Waits until the node says so: an answer is given out again for a second."""
    seen: list[Any] = []

    def is_so() -> bool:
        seen.append(readiness(node))
        return bool(seen[-1] == (status, {**ALL_WELL, **checks}))

    assert wait_until(is_so, PATIENCE), seen[-1]


def test_a_node_with_all_that_it_needs_is_ready(cluster: Cluster) -> None:
    becomes(cluster.node, 200)
    status, text, headers = fetch(cluster.node, "/healthz")
    assert (status, json.loads(text)) == (200, {"status": "ok"})
    assert headers["content-type"] == "application/json"


def test_it_leaves_nothing_behind(cluster: Cluster) -> None:
    becomes(cluster.node, 200)
    before, rehearsed = cluster.query(TRACES), rehearsals(cluster.node)
    assert wait_until(lambda: readiness(cluster.node)[0] == 200 and rehearsals(cluster.node) > rehearsed, PATIENCE)
    assert cluster.query(TRACES) == before


def rehearsals(node: Node) -> float:
    return scrape(node).value("willow_batch_size_count", lane="claims", kind="rehearsal")


def test_a_node_that_can_claim_nothing_is_not_ready(cluster: Cluster) -> None:
    """Its connections stand, and PostgreSQL answers all else."""
    becomes(cluster.node, 200)
    cluster.query("ALTER TABLE delivery_message RENAME COLUMN lease_until TO lost")
    try:
        becomes(cluster.node, 503, messages="cannot be posted, claimed and finished; the log of this node says why")
    finally:
        cluster.query("ALTER TABLE delivery_message RENAME COLUMN lost TO lease_until")
    becomes(cluster.node, 200)


def test_a_heartbeat_that_is_not_written(cluster: Cluster) -> None:
    becomes(cluster.node, 200)
    with psycopg.connect(cluster.database_url) as blocking:
        blocking.execute("LOCK TABLE clients_node IN EXCLUSIVE MODE")
        assert wait_until(lambda: readiness(cluster.node)[1]["heartbeat"].startswith("not written for "), PATIENCE)
    becomes(cluster.node, 200)


def test_probes_come_under_any_host_name(cluster: Cluster) -> None:
    becomes(cluster.node, 200)
    for path in ("/healthz", "/readyz"):
        assert fetch(cluster.node, path, Host="10.1.2.3:8080", X_Forwarded_For="203.0.113.9")[0] == 200
        assert fetch(cluster.node, path, method="POST")[0] == 405


def test_a_database_that_is_gone(cluster: Cluster, storage: Storage) -> None:
    becomes(cluster.node, 200)
    storage.stop()
    try:
        gone = "cannot be reached"
        assert wait_until(lambda: readiness(cluster.node)[1]["database"] == gone, PATIENCE)
        status, checks = readiness(cluster.node)
        assert status == 503
        assert fetch(cluster.node, "/healthz")[0] == 200
        parts = psycopg.conninfo.conninfo_to_dict(cluster.database_url)
        told = json.dumps(checks)
        assert not [name for name in ("password", "user", "host", "port", "dbname") if str(parts.get(name)) in told]
    finally:
        storage.start()
    becomes(cluster.node, 200)


def test_a_migration_that_was_not_applied(cluster: Cluster) -> None:
    [(name,)] = cluster.query(
        "DELETE FROM django_migrations WHERE id ="
        " (SELECT max(id) FROM django_migrations WHERE app = 'delivery') RETURNING name"
    )
    becomes(cluster.node, 503, migrations=f"1 not applied, such as delivery.{name}; run `manage.py prepare`")
    cluster.query("INSERT INTO django_migrations (app, name, applied) VALUES ('delivery', %s, now())", name)
    becomes(cluster.node, 200)


def test_a_reaper_that_was_not_seen_lately(start_cluster: StartCluster) -> None:
    with start_cluster() as cluster:
        becomes(cluster.node, 503, reaper="never seen; run `manage.py reaper`")
        cluster.query(
            "INSERT INTO delivery_dutyrun (duty, ran_at, seconds, handled)"
            " VALUES ('any', now() - interval '1 hour', 0, 0)"
        )
        assert wait_until(lambda: readiness(cluster.node)[1]["reaper"].startswith("not seen for 36"), PATIENCE)
        cluster.add_reaper()
        becomes(cluster.node, 200)


class UvicornNode(Node):
    """The same application under another server, which runs no start of ours."""

    def start(self) -> None:
        command = [sys.executable, "-m", "uvicorn", "willow_site.asgi:application", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=PROJECT_FOLDER,
                env=self._environ,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )


def test_a_node_that_nobody_started_is_started_by_who_asks_whether_it_is_ready(start_cluster: StartCluster) -> None:
    with start_cluster(reaper=True) as cluster:
        node = UvicornNode("under-uvicorn", cluster._environ, cluster._folder / "uvicorn.log")
        node.start()
        try:
            node.wait_until_ready()
            becomes(node, 200)
            assert ("under-uvicorn",) in cluster.query("SELECT name FROM clients_node")
            assert fetch(node, "/metrics")[0] == 200
        finally:
            node.kill()


async def test_a_node_that_stops_is_alive_but_not_ready(start_cluster: StartCluster, connect: Connect) -> None:
    """Asked over a connection that was open before, as load balancers keep them."""
    with start_cluster(reaper=True) as cluster:
        becomes(cluster.node, 200)
        client = await connect(cluster.node)
        await client.post("held", "m")
        message = await client.fetch("held")
        kept = http.client.HTTPConnection("127.0.0.1", cluster.node.port, timeout=PATIENCE)
        kept.connect()
        cluster.node.send(signal.SIGTERM)
        assert wait_until(lambda: not cluster.node.accepts_connections(), PATIENCE)
        kept.request("GET", "/readyz")
        answer = kept.getresponse()
        assert (answer.status, json.load(answer)["checks"]["node"]) == (503, "stopping")
        await client.finish(message)
