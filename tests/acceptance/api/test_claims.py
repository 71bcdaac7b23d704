"""Reliable work over HTTP: a claim lasts without a socket, and its receipt says which one is meant."""

import asyncio

import pytest

from tests.acceptance.api.conftest import Call
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.http import call
from tests.support.keys import make_key


async def fetched(api: Call, queue: str, **fields: object) -> dict:
    [message] = (await api("POST", "messages/fetch", {"queue": queue, "timeout": 20, **fields})).json["messages"]
    return message


async def test_a_message_is_fetched_and_finished(api: Call, client: Client, queue: str) -> None:
    await client.post(queue, "work")
    message = await fetched(api, queue, work_timeout=60)
    assert (message["body"], message["attempt"], message["work_timeout"]) == ("work", 1, 60.0)
    assert (await api("POST", "messages/fetch", {"queue": queue})).json == {"messages": []}
    done = await api("POST", "messages/finish", {"receipt": message["receipt"]})
    assert (done.status, done.json) == (200, {"receipt": message["receipt"]})
    again = await api("POST", "messages/finish", {"receipt": message["receipt"]})
    assert (again.status, again.json["code"]) == (404, "NoObject")


async def test_a_waiting_fetch_gets_what_is_posted(api: Call, client: Client, queue: str) -> None:
    await client.create(queue)
    waiting = asyncio.create_task(fetched(api, queue))
    await client.post(queue, "late")
    assert (await waiting)["body"] == "late"


async def test_a_failed_one_is_tried_again_with_its_error(api: Call, client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=2, retry_delay=0)
    await client.post(queue, "work")
    first = await fetched(api, queue)
    await api("POST", "messages/fail", {"receipt": first["receipt"], "error": "no paper"})
    second = await fetched(api, queue)
    assert second["attempt"] == 2
    # The first attempt's receipt says nothing about the second attempt.
    assert (await api("POST", "messages/finish", {"receipt": first["receipt"]})).status in (403, 404)
    await api("POST", "messages/fail", {"receipt": second["receipt"], "final": True})
    [dead] = (await api("GET", "messages", queue=f"{queue}.dead")).json["results"]
    assert dead["body"] == "work"


async def test_a_released_one_has_spent_no_attempt(api: Call, client: Client, queue: str) -> None:
    await client.post(queue, "work")
    message = await fetched(api, queue)
    assert (await api("POST", "messages/release", {"receipt": message["receipt"]})).status == 200
    assert (await fetched(api, queue))["attempt"] == 1


async def test_without_keepalive_the_claim_ends_with_its_lease(
    api: Call, broker: Cluster, client: Client, queue: str
) -> None:
    await client.post(queue, "work")
    message = await fetched(api, queue, work_timeout=600)
    assert (await api("POST", "messages/keepalive", {"receipt": message["receipt"]})).status == 200
    broker.query("UPDATE delivery_message SET lease_until = now() WHERE queue_id = %s RETURNING 1", message["shard"])
    assert (await fetched(api, queue))["attempt"] == 2
    late = await api("POST", "messages/keepalive", {"receipt": message["receipt"]})
    assert late.status in (403, 404)


async def test_a_socket_cannot_end_what_was_fetched_over_http(api: Call, client: Client, queue: str) -> None:
    await client.post(queue, "work")
    message = await fetched(api, queue)
    fields = {name: message[name] for name in ("shard", "sequence", "index")}
    label = await client.begin("finish", queue, **fields, response="write")
    await client.expect(label, type="error", code="PermissionDenied")
    assert (await api("POST", "messages/finish", {"receipt": message["receipt"]})).status == 200


async def test_each_needs_the_grant(broker: Cluster, api: Call, client: Client, queue: str) -> None:
    await client.post(queue, "work")
    receipt = {"receipt": (await fetched(api, queue))["receipt"]}
    stranger = make_key(broker, {"other*": {"fetch"}, queue: {"post"}}).headers
    bodies = {"fetch": {"queue": queue}} | dict.fromkeys(("finish", "fail", "keepalive", "release"), receipt)
    for action, body in bodies.items():
        answer = await call(broker.node, "POST", f"/api/messages/{action}", body, headers=stranger)
        assert (answer.status, answer.json["key"]) == (403, queue), action


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"queue": "q", "work_timeout": 0}, "work_timeout"),
        ({"queue": "q", "wait": 1}, "wait"),
        ({"queue": "q", "timeout": 31}, "timeout"),
    ],
)
async def test_what_is_wrong_is_named(api: Call, body: dict, field: str) -> None:
    answer = await api("POST", "messages/fetch", body)
    assert (answer.status, answer.json["key"]) == (400, field)


async def test_a_bad_receipt_is_refused(api: Call) -> None:
    answer = await api("POST", "messages/finish", {"receipt": "1/2"})
    assert (answer.status, answer.json["key"]) == (400, "receipt")
    assert answer.json["detail"] == "receipt: This must be a receipt as a fetch gave it, such as 12/345/345/1."
