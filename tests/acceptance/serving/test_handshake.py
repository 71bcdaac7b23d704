"""How a worker comes to work, what makes the broker send it back or away, and where else it may go."""

import time
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import NEVER_LAPSE, Connect, StartCluster
from tests.support.workers import Worker, begin_request, working


@pytest.fixture
def worker(client: Client, service: str) -> Worker:
    """One that has not said anything yet."""
    return Worker(client, [service])


async def _is_dismissed(client: Client, code: int) -> None:
    assert (await client.expect(None, type="disconnecterror", code=code))["message"]
    await client.closed_by_broker()


# startup


async def test_checkconfig_then_ready(worker: Worker) -> None:
    config = await worker.check_config()
    assert config["config"] is not None
    await worker.say_ready()
    ready_ok = await worker.client.expect(None, type="readyok", config_version=worker.version)
    assert abs(ready_ok["time"] - time.time()) < 30


async def test_both_in_one_frame_when_the_version_is_known(connect: Connect, worker: Worker, service: str) -> None:
    await worker.check_config()
    again = await connect()
    check = {
        "type": "checkconfig",
        "config_type": "JSON",
        "config_version": worker.version,
        "identity": "again",
        "services": [service],
    }
    await again.send(check, {"type": "ready", "services": [service], "heartbeat_interval": 60, **worker.stamp()})
    await again.expect(None, type="config", config_version=worker.version, config=None)
    await again.expect(None, type="readyok")


@pytest.mark.parametrize("version", ["unknown", "", None])
async def test_ready_before_checkconfig_is_sent_back(worker: Worker, version: str | None) -> None:
    await worker.say_ready(config_version=version)
    assert await worker.client.next(None) == {"type": "forcenegotiate"}
    await worker.check_config()
    await worker.ready()


async def test_a_service_that_was_not_negotiated_is_sent_back(worker: Worker, service: str) -> None:
    await worker.check_config()
    await worker.say_ready(services=[service, "another"])
    await worker.client.expect(None, type="forcenegotiate")


async def test_a_service_may_be_left_out(worker: Worker, service: str) -> None:
    worker.services = [service, f"{service}-unused"]
    await worker.check_config()
    await worker.ready(services=[service])


async def test_a_client_that_finds_its_broker_down_asks_another(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster(nodes=2) as cluster:
        down, up = cluster.nodes
        down.stop()
        with pytest.raises(ConnectionRefusedError):
            await connect(down)
        client = await connect(up)
        await client.send({"type": "needbroker", "identity": "lost", "services": ["any"]})
        await client.expect(None, type="changebroker", node=up.name, url=up.url)
        await working(client, "any")


# versions


async def test_a_version_that_is_not_current_is_sent_back(worker: Worker) -> None:
    await worker.check_config()
    await worker.say_ready(config_version="old")
    await worker.client.expect(None, type="forcenegotiate")
    await worker.ready()


async def test_after_three_refusals_the_worker_is_dismissed(worker: Worker) -> None:
    for _ in range(3):
        await worker.check_config()
        await worker.say_ready(config_version="old")
        await worker.client.expect(None, type="forcenegotiate")
    await worker.check_config()
    await worker.say_ready(config_version="old")
    await _is_dismissed(worker.client, 426)


async def test_refusals_are_forgotten_when_a_version_is_accepted(worker: Worker) -> None:
    for _ in range(2):
        for _ in range(3):
            await worker.say_ready(config_version="old")
            await worker.client.expect(None, type="forcenegotiate")
        await worker.check_config()
        await worker.ready()


async def test_a_ping_with_an_old_version_is_answered_and_sent_back(worker: Worker) -> None:
    await worker.check_config()
    await worker.ready()
    await worker.ping(config_version="old")
    await worker.client.expect(None, type="pong", config_version=worker.version)
    await worker.client.expect(None, type="forcenegotiate")


async def test_a_pong_with_an_old_version_is_sent_back(worker: Worker) -> None:
    await worker.check_config()
    await worker.ready()
    await worker.client.send({"type": "pong", **worker.stamp(), "config_version": "old"})
    await worker.client.expect(None, type="forcenegotiate")


# pings


async def test_a_worker_is_answered_by_pong(worker: Worker) -> None:
    await worker.check_config()
    await worker.ping()
    await worker.client.expect(None, type="pong", config_version=worker.version)


async def test_anybody_may_ping(client: Client) -> None:
    await client.send({"type": "ping", "time": time.time(), "config_version": "none"})
    await client.expect(None, type="pong", config_version="")


# dismissals


@pytest.mark.parametrize("seconds", [-60, 60])
@pytest.mark.parametrize(
    "command",
    [
        {"type": "ready", "services": ["any"], "heartbeat_interval": 60},
        {"type": "ping"},
        {"type": "pong"},
        {"type": "workreply", "work_request_identifier": "1.1.1", "body": "late"},
    ],
    ids=lambda command: command["type"],
)
async def test_a_clock_that_is_off_is_dismissed(client: Client, command: dict[str, Any], seconds: int) -> None:
    worker = Worker(client, ["any"])
    await worker.check_config()
    await client.send({**command, **worker.stamp(), "time": time.time() + seconds})
    await _is_dismissed(client, 400)


@pytest.mark.parametrize("seconds", [-20, 20])
async def test_a_clock_that_is_a_little_off_is_not(worker: Worker, seconds: int) -> None:
    await worker.check_config()
    await worker.ready(time=time.time() + seconds)


async def test_an_unknown_command_of_a_worker_is_dismissed(worker: Worker) -> None:
    await worker.check_config()
    await worker.client.send({"type": "juggle"})
    await _is_dismissed(worker.client, 501)


async def test_an_unknown_command_of_others_is_refused(client: Client) -> None:
    await client.send({"type": "juggle"})
    await client.expect(None, type="error", code="BadRequest", key="type")


async def test_what_a_dismissed_worker_held_goes_to_the_next(connect: Connect, client: Client, service: str) -> None:
    worker, heir = await working(await connect(), service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    await worker.request()
    await worker.client.send({"type": "juggle"})
    await _is_dismissed(worker.client, 501)
    await heir.reply(await heir.request(), "answer")
    await client.expect(label, body="answer")


async def test_a_dismissed_worker_is_given_nothing_while_its_socket_closes(
    broker: Cluster, connect: Connect, client: Client, service: str
) -> None:
    worker = Worker(await connect(), [service])
    await worker.check_config()
    label = await begin_request(client, service, "question")
    worker.client.socket.transport.pause_reading()  # so that it does not answer the close
    ready = {"type": "ready", "services": [service], "heartbeat_interval": 60, **worker.stamp()}
    await worker.client.send({"type": "juggle"}, ready)
    heir = await working(await connect(), service)
    request = await heir.request()
    [(attempts,)] = broker.query(
        "SELECT attempts FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s",
        f"service:{service}",
    )
    assert attempts == 1
    await heir.reply(request, "answer")
    await client.expect(label, body="answer")
    worker.client.socket.transport.resume_reading()
    await _is_dismissed(worker.client, 501)


# other brokers


async def test_needbroker_names_the_node_with_the_least_load(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster(nodes=2, **NEVER_LAPSE) as cluster:
        busy, idle = cluster.nodes
        for _ in range(3):
            await connect(busy)
        asking = await connect(busy)
        while True:  # nodes say how loaded they are with their heartbeats
            await asking.send({"type": "needbroker", "identity": "asking"})
            answer = await asking.expect(None, type="changebroker")
            if answer["node"] == idle.name:
                break
        assert answer["url"] == idle.url


async def test_a_node_that_stops_sends_its_workers_to_another(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster(nodes=2, **NEVER_LAPSE) as cluster:
        stopping, staying = cluster.nodes
        worker = await working(await connect(stopping), "moving")
        stopping.stop()
        await worker.client.expect(None, type="changebroker", node=staying.name, url=staying.url)
        await worker.client.closed_by_broker()
        moved = await working(await connect(staying), "moving")
        frontend = await connect(staying)
        label = await begin_request(frontend, "moving", "question")
        await moved.reply(await moved.request(), "answer")
        await frontend.expect(label, body="answer")


async def test_a_node_that_stops_alone_dismisses_its_workers(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster() as cluster:
        worker = await working(await connect(cluster.node), "ending")
        cluster.node.stop()
        await _is_dismissed(worker.client, 503)
