"""Who may serve, and who may ask."""

import pytest

from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
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
