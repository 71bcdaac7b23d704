"""With Redis between the nodes nothing waits for the slow poll."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster
from tests.support.fixtures import NEVER_LAPSE, Connect, StartCluster
from tests.support.workers import begin_request, end_claims, working
from willow_site.embedded.valkey import throwaway_valkey
from willow_site.project_folder import PROJECT_FOLDER

CHANGE = """
from delivery.operating.audit import at_shell
from delivery.serving.changes import service_config_change
service_config_change(name="hinted", config={"size": 4}, heartbeat_interval=5, by=at_shell())
"""


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with throwaway_valkey() as url:
        yield url


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster, redis_url: str) -> Iterator[Cluster]:
    """Its nodes would find things by themselves only long after the tests have given up."""
    settings = {"WILLOW_POLL_SECONDS": "300", **NEVER_LAPSE}
    with start_cluster(nodes=2, reaper=True, REDIS_URL=redis_url, **settings) as cluster:
        yield cluster


async def test_requests_and_replies_cross_nodes_at_once(cluster: Cluster, connect: Connect) -> None:
    asked, serving = cluster.nodes
    frontend = await connect(asked)
    worker = await working(await connect(serving), "crossing")
    for number in range(5):
        label = await begin_request(frontend, "crossing", str(number))
        await worker.reply(await worker.request(body=str(number)), "answer")
        await frontend.expect(label, body="answer")
        await worker.ready()


async def test_workers_on_all_nodes_hear_of_a_change_at_once(
    cluster: Cluster, redis_url: str, connect: Connect
) -> None:
    workers = [await working(await connect(node), "hinted") for node in cluster.nodes]
    _change_config(cluster, redis_url)
    for worker in workers:
        config = await worker.client.expect(None, type="config")
        assert json.loads(config["config"])["services"] == {"hinted": {"size": 4}}


async def test_a_request_that_ran_out_of_time_goes_to_the_next_worker_at_once(
    cluster: Cluster, connect: Connect, service: str
) -> None:
    """The reaper finds it, and is no node that could give it to a worker."""
    asked, serving = cluster.nodes
    frontend = await connect(asked)
    slow, heir = await working(await connect(asked), service), await working(await connect(serving), service)
    label = await begin_request(frontend, service, "question")
    request = await slow.request()
    end_claims(cluster, service)
    await heir.reply(await heir.request(work_request_identifier=request["work_request_identifier"]), "answer")
    await frontend.expect(label, body="answer")


async def test_a_delayed_request_goes_to_a_worker_as_soon_as_it_is_due(
    cluster: Cluster, connect: Connect, service: str
) -> None:
    """Its node is not there to see to it: only the reaper knows of the delay."""
    frontend = await connect(cluster.node)
    await frontend.create(f"service:{service}")
    worker = await working(await connect(cluster.node), service)
    cluster.query(
        "INSERT INTO delivery_message (queue_id, sequence, index, priority, state, attempts, posted_at, available_at,"
        " body, notify) SELECT id, 1, 1, 0, 1, 0, now(), now() + interval '1 second', 'late', 0"
        " FROM queues_queue WHERE name = %s",
        f"service:{service}",
    )
    await worker.request(body="late")


def _change_config(cluster: Cluster, redis_url: str) -> None:
    """In a process of its own, as the admin of another node would."""
    environ = {**os.environ, "DATABASE_URL": cluster.database_url, "REDIS_URL": redis_url}
    subprocess.run([sys.executable, "manage.py", "shell", "-c", CHANGE], cwd=PROJECT_FOLDER, env=environ, check=True)
