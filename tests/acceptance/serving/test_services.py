"""Request and reply: from a frontend to a worker and back, and what happens when either goes."""

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.workers import Worker, begin_request, end_claims, working


async def test_a_request_is_answered_by_its_reply(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service)
    label = await begin_request(client, service, "question")
    request = await worker.request(service=service, body="question", config_version=worker.version)
    await worker.reply(request, "answer")
    identifier = request["work_request_identifier"]
    expected = {"type": "workreply", "label": label, "work_request_identifier": identifier, "body": "answer"}
    assert await client.next(label) == expected
    assert client.unread() == []


async def test_a_worker_is_in_the_line_once_per_ready(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service)
    first, second = [await begin_request(client, service, body) for body in ("1", "2")]
    await worker.reply(await worker.request(body="1"), "one")
    await client.expect(first, body="one")
    await worker.ping()
    await other.expect(None, type="pong")
    assert client.unread(second) == []
    await worker.ready()
    await worker.reply(await worker.request(body="2"), "two")
    await client.expect(second, body="two")


async def test_slots_are_requests_at_once(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service, slots=2)
    labels = [await begin_request(client, service, body) for body in ("1", "2", "3")]
    requests = [await worker.request(body=body) for body in ("1", "2")]
    await worker.reply(requests[1], "two")
    await client.expect(labels[1], body="two")
    await worker.ready(slots=2)
    third = await worker.request(body="3")
    await worker.reply(requests[0], "one")
    await worker.reply(third, "three")
    await client.expect(labels[0], body="one")
    await client.expect(labels[2], body="three")


async def test_a_worker_of_several_services_takes_one_request(client: Client, other: Client, service: str) -> None:
    worker = await working(other, f"{service}-a", f"{service}-b")
    first = await begin_request(client, f"{service}-a", "1")
    await worker.reply(await worker.request(service=f"{service}-a"), "a")
    await client.expect(first, body="a")
    second = await begin_request(client, f"{service}-b", "2")
    await worker.ready()
    await worker.reply(await worker.request(service=f"{service}-b"), "b")
    await client.expect(second, body="b")


async def test_a_request_waits_for_the_first_worker(client: Client, other: Client, service: str) -> None:
    label = await begin_request(client, service, "early")
    worker = await working(other, service)
    await worker.reply(await worker.request(body="early"), "late")
    await client.expect(label, body="late")


@pytest.mark.parametrize("identifier", ["w-81", "1.2", "1.2.3", "99999999999999999999.1.1", "-1.1.1", "٣.1.1"])
async def test_a_reply_with_an_unknown_identifier_is_dropped(client: Client, service: str, identifier: str) -> None:
    worker = await working(client, service)
    await worker.reply({"work_request_identifier": identifier}, "nobody asked")
    await worker.ping()
    await client.expect(None, type="pong")


async def test_a_reply_of_a_worker_that_does_not_hold_the_request_is_dropped(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    worker, thief = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    await thief.reply(request, "wrong")
    await thief.ping()
    await thief.client.expect(None, type="pong")
    await worker.reply(request, "right")
    await client.expect(label, body="right")


async def test_a_second_reply_is_dropped(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    await worker.reply(request, "first")
    await worker.reply(request, "second")
    await client.expect(label, body="first")
    await worker.ping()
    await other.expect(None, type="pong")
    await client.heard_everything()
    assert client.unread(label) == []


async def test_requests_of_a_worker_that_disconnects_go_to_the_next(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    dying, heir = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    request = await dying.request()
    await other.close()
    again = await heir.request(body="question", work_request_identifier=request["work_request_identifier"])
    await heir.reply(again, "answer")
    await client.expect(label, body="answer")


async def test_a_request_that_a_worker_holds_for_too_long_goes_to_the_next(
    broker: Cluster, connect: Connect, client: Client, other: Client, service: str
) -> None:
    slow, heir = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    request = await slow.request()
    end_claims(broker, service)
    again = await heir.request()
    await slow.reply(request, "too late")
    await heir.reply(again, "in time")
    await client.expect(label, body="in time")


async def test_the_frontend_hears_when_the_retry_limit_is_reached(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    await client.create(f"service:{service}", retry_limit=2, heartbeat_timeout=0.1)
    workers = [await working(connection, service) for connection in (other, await connect())]
    label = await begin_request(client, service, "poison")
    for worker in workers:
        await worker.request(body="poison")
    await client.expect(label, type="error", code="Unavailable", key=service)
    assert (await client.pop(f"service:{service}.dead"))["body"] == "poison"


async def test_a_worker_that_misses_three_heartbeats_loses_its_requests(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    silent = await working(other, service, heartbeat_interval=1)
    label = await begin_request(client, service, "question")
    request = await silent.request()
    heir = await working(await connect(), service)
    again = await heir.request(work_request_identifier=request["work_request_identifier"])
    await other.expect(None, type="ping")
    await heir.reply(again, "answer")
    await client.expect(label, body="answer")


async def test_a_worker_that_fell_silent_may_start_again(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service, heartbeat_interval=0.1)
    while (await other.next(None))["type"] != "forcenegotiate":
        pass
    label = await begin_request(client, service, "question")
    await worker.check_config()
    await worker.ready()
    await worker.reply(await worker.request(), "answer")
    await client.expect(label, body="answer")


async def test_a_worker_that_pings_keeps_its_request(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service, heartbeat_interval=1)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    for _ in range(4):  # the broker asks after each interval of silence
        await other.expect(None, type="ping")
        await worker.ping()
        await other.expect(None, type="pong")
    await worker.reply(request, "answer")
    await client.expect(label, body="answer")


async def test_a_worker_that_answers_pings_by_pong_keeps_its_request(
    client: Client, other: Client, service: str
) -> None:
    worker = await working(other, service, heartbeat_interval=1)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    for send in (other.send, other.send_binary) * 2:
        await other.expect(None, type="ping")
        await send({"type": "pong", **worker.stamp()})
    await worker.reply(request, "answer")
    await client.expect(label, body="answer")


async def test_a_frontend_that_is_gone_breaks_nothing(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    worker = await working(other, service)
    gone = await connect()
    await begin_request(gone, service, "question")
    request = await worker.request()
    await gone.close()
    await worker.reply(request, "to nobody")
    await worker.ready()
    label = await begin_request(client, service, "next")
    await worker.reply(await worker.request(body="next"), "answer")
    await client.expect(label, body="answer")


async def test_a_frontend_that_comes_back_gets_its_reply(connect: Connect, other: Client, service: str) -> None:
    frontend = await connect(hold=60)
    label = await begin_request(frontend, service, "question")
    await frontend.close()
    worker = await working(other, service)
    await worker.reply(await worker.request(), "answer")
    back = await connect(id=frontend.id)
    await back.expect(label, type="workreply", body="answer")


async def test_a_worker_that_comes_back_is_sent_what_it_holds(connect: Connect, client: Client, service: str) -> None:
    first = await connect(hold=60)
    worker = await working(first, service)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    await first.close()
    back = await working(await connect(id=first.id), service)
    assert (await back.request())["work_request_identifier"] == request["work_request_identifier"]
    await back.reply(request, "answer")
    await client.expect(label, body="answer")


async def test_a_post_to_the_queue_of_a_service_is_a_request_too(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service)
    label = await client.begin("post", f"service:{service}", message="m", notify=["assign", "finish"])
    request = await worker.request(body="m")
    await client.expect(label, notice="assign")
    await worker.reply(request, "done")
    await client.expect(label, type="notice", notice="finish", reply="done")


async def test_a_request_survives_a_restart_of_the_broker(start_cluster: StartCluster, connect: Connect) -> None:
    with start_cluster(reaper=True) as cluster:
        frontend = await connect(cluster.node)
        label = await begin_request(frontend, "durable", "question")
        await frontend.post("elsewhere", "stored after it")
        cluster.node.kill()
        cluster.node.start()
        cluster.node.wait_until_ready()
        back = await connect(cluster.node, id=frontend.id)
        worker = await working(await connect(cluster.node), "durable")
        await worker.reply(await worker.request(body="question"), "answer")
        await back.expect(label, type="workreply", body="answer")


async def test_requests_of_workers_on_a_killed_node_go_to_the_next(
    start_cluster: StartCluster, connect: Connect
) -> None:
    with start_cluster(nodes=2, reaper=True) as cluster:
        dying, living = cluster.nodes
        frontend = await connect(living)
        worker = await working(await connect(dying), "handed-on", heartbeat_interval=1)
        label = await begin_request(frontend, "handed-on", "question")
        await worker.request()
        heir = await working(await connect(living), "handed-on")
        dying.kill()
        await heir.reply(await heir.request(body="question"), "answer")
        await frontend.expect(label, body="answer")


async def test_a_service_name_has_room_for_the_prefix_of_its_queue(client: Client) -> None:
    label = await begin_request(client, "s" * 193, "question")
    await client.expect(label, type="error", code="BadRequest", key="service")
    await Worker(client, ["s" * 193]).say_check_config()
    await client.expect(None, type="error", code="BadRequest", key="services")
    await Worker(client, ["s" * 192]).check_config()


async def test_a_worker_of_as_many_services_as_there_may_be(client: Client, other: Client, service: str) -> None:
    services = [f"{service}-{number}" for number in range(256)]
    worker = await working(other, *services)
    for asked in (services[0], services[-1]):
        label = await begin_request(client, asked, "question")
        await worker.reply(await worker.request(service=asked), "answer")
        await client.expect(label, body="answer")
        await worker.ready()


async def test_a_stream_is_no_service(client: Client, other: Client, service: str) -> None:
    await client.create(f"service:{service}", kind="stream")
    label = await begin_request(client, service, "question")
    await client.expect(label, type="error", code="BadRequest", key="service")
    worker = Worker(other, [service])
    await worker.check_config()
    await worker.say_ready()
    await other.expect(None, type="error", code="BadRequest", key="services")
