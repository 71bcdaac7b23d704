"""Who may serve, and who may ask."""

import pytest

from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.http import call
from tests.support.keys import make_key
from tests.support.workers import Worker, begin_request, working


async def test_serving_and_asking_need_their_grants(broker: Cluster, connect: Connect, service: str) -> None:
    serving = await connect(headers=make_key(broker, {service: {"serve"}}).headers)
    asking = await connect(headers=make_key(broker, {service: {"request"}}).headers)
    worker = await working(serving, service)
    label = await begin_request(asking, service, "question")
    await worker.reply(await worker.request(), "answer")
    await asking.expect(label, body="answer")


@pytest.mark.parametrize("permission", ["post", "fetch", "create", "request", "admin"])
async def test_other_grants_do_not_let_anybody_serve(
    broker: Cluster, connect: Connect, service: str, permission: str
) -> None:
    client = await connect(headers=make_key(broker, {"*": {permission}}).headers)
    worker = Worker(client, [service])
    await client.send({"type": "checkconfig", "config_type": "JSON", "identity": "x", "services": [service]})
    await client.expect(None, type="error", code="PermissionDenied", key=service)
    await worker.say_ready(config_version="any")
    await client.expect(None, type="error", code="PermissionDenied", key=service)


@pytest.mark.parametrize("permission", ["post", "fetch", "create", "serve", "admin"])
async def test_other_grants_do_not_let_anybody_ask(
    broker: Cluster, connect: Connect, service: str, permission: str
) -> None:
    client = await connect(headers=make_key(broker, {"*": {permission}}).headers)
    label = await begin_request(client, service, "question")
    await client.expect(label, type="error", code="PermissionDenied", key=service)


async def test_a_worker_that_may_serve_no_longer_is_closed(broker: Cluster, connect: Connect, service: str) -> None:
    key = make_key(broker, {service: {"serve"}})
    worker = await working(await connect(headers=key.headers), service)
    heir = await working(await connect(), service)
    frontend = await connect()
    label = await begin_request(frontend, service, "question")
    await worker.request()
    key.grant({"another": {"serve"}})
    assert await worker.client.closed_by_broker() == 4401
    await heir.reply(await heir.request(), "answer")
    await frontend.expect(label, body="answer")


@pytest.mark.parametrize(
    "queue_grant", [{"*": {"post", "fetch", "create"}}, {"service:*": {"post", "fetch", "create"}}]
)
async def test_the_queue_of_a_service_is_no_way_around_its_grants(
    broker: Cluster, connect: Connect, service: str, queue_grant: dict[str, set[str]]
) -> None:
    """Neither to read requests and answer them, nor to make them up."""
    frontend = await connect()
    label = await begin_request(frontend, service, "not for everybody")
    stranger, queue = await connect(headers=make_key(broker, queue_grant).headers), f"service:{service}"
    for command, fields in (
        ("fetch", {}), ("pop", {}), ("subscribe", {}), ("post", {"message": "forged"}), ("create", {}),
        ("finish", {"shard": 1, "sequence": 1, "reply": "forged"}), ("fail", {"shard": 1, "sequence": 1}),
    ):  # fmt: skip
        refused = await stranger.begin(command, queue, **fields)
        await stranger.expect(refused, type="error", code="PermissionDenied", key=queue)
    for path, body in (("messages/pop", {"queue": queue}), ("messages", {"queue": queue, "message": "forged"})):
        answer = await call(broker.node, "POST", f"/api/{path}", body, headers=make_key(broker, queue_grant).headers)
        assert answer.status == 403
    worker = await working(await connect(), service)
    await worker.reply(await worker.request(), "answer")
    await frontend.expect(label, body="answer")


async def test_who_may_serve_reads_the_queue_and_who_may_ask_posts_to_it(
    broker: Cluster, connect: Connect, service: str
) -> None:
    asking = await connect(headers=make_key(broker, {service: {"request"}}).headers)
    serving = await connect(headers=make_key(broker, {service: {"serve"}}).headers)
    await asking.post(f"service:{service}", "question")
    await serving.finish(await serving.fetch(f"service:{service}"), reply="answer")
