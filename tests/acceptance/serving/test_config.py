"""The configuration that workers get, and how they hear of a change on every node."""

import json
from collections.abc import Iterator

import pytest
from defusedxml.ElementTree import fromstring

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import NEVER_LAPSE, Connect, StartCluster
from tests.support.workers import Worker, configure, working


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(nodes=2, **NEVER_LAPSE) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect: Connect) -> Client:
    return await connect(cluster.node)


async def test_a_configuration_has_all_that_a_worker_needs(cluster: Cluster, client: Client, service: str) -> None:
    configure(cluster, service, {"size": 3}, heartbeat_interval=2.5)
    worker = Worker(client, [service, f"{service}-other"])
    config = json.loads((await worker.check_config())["config"])
    assert config["services"] == {service: {"size": 3}, f"{service}-other": {}}
    assert config["heartbeat_interval"] == 2.5
    group = sorted(config["broker_group"], key=lambda node: node["node"])
    assert group == [{"node": node.name, "url": node.url} for node in cluster.nodes]
    assert config["preferred_broker"] in group


async def test_the_current_version_is_not_sent_again(client: Client, service: str) -> None:
    worker = Worker(client, [service])
    assert (await worker.check_config())["config"] is not None
    assert (await worker.check_config(config_version=worker.version))["config"] is None
    assert (await worker.check_config(config_version="another"))["config"] is not None


async def test_xml(cluster: Cluster, client: Client, service: str) -> None:
    configure(cluster, service, {"size": 3})
    root = fromstring((await Worker(client, [service]).check_config("XML"))["config"])
    size = root.find(f"entry[@name='services']/entry[@name='{service}']/entry[@name='size']")
    assert (size.get("type"), size.text) == ("number", "3")


async def test_zfl(cluster: Cluster, client: Client, service: str) -> None:
    configure(cluster, service, {"size": 3})
    lines = (await Worker(client, [service]).check_config("ZFL"))["config"].splitlines()
    assert lines[:3] == ["services", f"    {service}", "        size = 3"]


async def test_a_change_reaches_the_workers_of_every_node(
    cluster: Cluster, connect: Connect, client: Client, service: str
) -> None:
    workers = [await working(await connect(node), service) for node in cluster.nodes]
    bystander = await working(client, f"{service}-other")
    configure(cluster, service, {"size": 4})
    for worker in workers:
        config = await worker.client.expect(None, type="config", config_type="JSON")
        assert json.loads(config["config"])["services"] == {service: {"size": 4}}
        assert config["config_version"] != worker.version
        await worker.say_ready()
        await worker.client.expect(None, type="forcenegotiate")
        worker.version = config["config_version"]
        await worker.ready()
    await bystander.ping()
    await client.expect(None, type="pong", config_version=bystander.version)


async def test_a_configuration_that_comes_back_after_it_was_deleted_is_another_version(
    cluster: Cluster, client: Client, service: str
) -> None:
    configure(cluster, service, {"size": 1})
    worker = Worker(client, [service])
    first = (await worker.check_config())["config_version"]
    cluster.query("DELETE FROM delivery_serviceconfig WHERE name = %s", service)
    await client.expect(None, type="config")
    configure(cluster, service, {"size": 2})
    assert (await client.expect(None, type="config"))["config_version"] != first
