"""What a frontend hears of a request that nobody answers: that its time is over, or what the worker said."""

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.workers import begin_request, working

ENOUGH_TO_BE_GIVEN = 3.0  # seconds, in which a worker gets a request also on a busy machine
TOO_LATE = {"type": "error", "code": "Unavailable", "key": "timeout"}


# time


async def test_a_request_without_a_worker_ends_with_its_time(client: Client, other: Client, service: str) -> None:
    label = await begin_request(client, service, "question", timeout=0.3)
    await client.expect(label, **TOO_LATE)
    worker = await working(other, service)
    second = await begin_request(client, service, "second")
    await worker.reply(await worker.request(body="second"), "answer")
    await client.expect(second, body="answer")


async def test_the_time_of_a_request_is_not_the_reapers(start_cluster: StartCluster, connect: Connect) -> None:
    """There is none."""
    with start_cluster() as cluster:
        frontend = await connect(cluster.node)
        for seconds in (0.3, 0.1):
            await frontend.expect(await begin_request(frontend, "slow", "question", timeout=seconds), **TOO_LATE)


async def test_a_request_that_a_worker_holds_ends_with_its_time_too(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    slow, heir = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question", timeout=ENOUGH_TO_BE_GIVEN)
    request = await slow.request()
    await client.expect(label, **TOO_LATE)
    await slow.reply(request, "too late")
    await slow.ping()
    await other.expect(None, type="pong")
    await heir.ping()
    await heir.client.expect(None, type="pong")
    await client.heard_everything()
    assert client.unread(label) == []


async def test_a_time_that_is_not_over_does_no_harm(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service, slots=2)
    short = await begin_request(client, service, "short", timeout=ENOUGH_TO_BE_GIVEN)
    long = await begin_request(client, service, "long", timeout=3600)
    await worker.request(body="short")
    request = await worker.request(body="long")
    await client.expect(short, **TOO_LATE)
    await worker.reply(request, "answer")
    await client.expect(long, type="workreply", body="answer")


async def test_retries_do_not_start_the_time_again(client: Client, other: Client, service: str) -> None:
    await client.create(f"service:{service}", retry_limit=100)
    worker = await working(other, service)
    label = await begin_request(client, service, "question", timeout=2 * ENOUGH_TO_BE_GIVEN)
    for _ in range(3):
        await worker.error(await worker.request(), "not I")
        await worker.ready()
    await worker.request()
    await client.expect(label, **TOO_LATE)


async def test_a_frontend_on_another_node_hears_of_its_time(
    three_nodes: Cluster, connect: Connect, service: str
) -> None:
    here, there = three_nodes.nodes[:2]
    frontend, worker = await connect(here), await working(await connect(there), service)
    label = await begin_request(frontend, service, "question", timeout=ENOUGH_TO_BE_GIVEN)
    await worker.request()
    await frontend.expect(label, **TOO_LATE)


async def test_a_frontend_that_came_back_elsewhere_hears_of_its_time(
    three_nodes: Cluster, connect: Connect, connect_when_available: Connect, service: str
) -> None:
    frontend = await connect(three_nodes.nodes[0], hold=60)
    label = await begin_request(frontend, service, "question", timeout=1)
    await frontend.post(service, "stored after it")
    await frontend.close()
    back = await connect_when_available(three_nodes.nodes[1], id=frontend.id)
    await back.expect(label, **TOO_LATE)


# errors of workers


@pytest.mark.parametrize("binary", [False, True])
async def test_a_final_error_reaches_the_frontend_at_once(
    connect: Connect, client: Client, other: Client, service: str, binary: bool
) -> None:
    worker, idle = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    identifier = {"work_request_identifier": request["work_request_identifier"]}
    send = other.send_binary if binary else other.send
    await send({"type": "workerror", **identifier, "error": "it is no picture: ü", "final": True, **worker.stamp()})
    answer = await client.next(label)
    assert answer == {
        "type": "error",
        "label": label,
        "code": "Failed",
        "key": service,
        "message": "it is no picture: ü",
    }
    await idle.ping()
    await idle.client.expect(None, type="pong")
    assert (await client.pop(f"service:{service}.dead"))["body"] == "question"


async def test_an_error_that_is_not_final_sends_the_request_to_the_next(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    first, second = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    await first.error(await first.request(), "not I")
    await second.reply(await second.request(), "answer")
    await client.expect(label, type="workreply", body="answer")


async def test_the_last_error_reaches_the_frontend_when_none_could_answer(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    await client.create(f"service:{service}", retry_limit=3)
    workers = [await working(connection, service) for connection in (other, await connect(), await connect())]
    label = await begin_request(client, service, "question")
    for number, worker in enumerate(workers):
        await worker.error(await worker.request(), f"error {number}")
    await client.expect(label, type="error", code="Failed", key=service, message="error 2")


async def test_an_error_is_remembered_when_the_last_worker_only_goes(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    await client.create(f"service:{service}", retry_limit=2)
    first, last = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    await first.error(await first.request(), "the only word")
    await last.request()
    await last.client.close()
    await client.expect(label, type="error", code="Failed", message="the only word")


async def test_an_error_without_a_text_is_an_error(client: Client, other: Client, service: str) -> None:
    worker = await working(other, service)
    label = await begin_request(client, service, "question")
    await worker.error(await worker.request(), "", final=True)
    answer = await client.expect(label, type="error", code="Failed", key=service)
    assert service in answer["message"]


async def test_an_error_of_who_does_not_hold_the_request_is_dropped(
    connect: Connect, client: Client, other: Client, service: str
) -> None:
    worker, thief = await working(other, service), await working(await connect(), service)
    label = await begin_request(client, service, "question")
    request = await worker.request()
    for wrong in (request, {"work_request_identifier": "1.2.3"}, {"work_request_identifier": "nonsense"}):
        await thief.error(wrong, "wrong", final=True)
    await thief.ping()
    await thief.client.expect(None, type="pong")
    await worker.reply(request, "right")
    await client.expect(label, body="right")


async def test_an_error_reaches_a_frontend_on_another_node(
    three_nodes: Cluster, connect: Connect, service: str
) -> None:
    here, there = three_nodes.nodes[:2]
    frontend, worker = await connect(here), await working(await connect(there), service)
    label = await begin_request(frontend, service, "question")
    await worker.error(await worker.request(), "far away", final=True)
    await frontend.expect(label, type="error", code="Failed", key=service, message="far away")
