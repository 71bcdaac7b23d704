"""Queues that keep replies: how a message ended can be asked for, by whoever posted it."""

import pytest

from tests.acceptance.api.conftest import Call, api, operator_key
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.http import call
from tests.support.keys import make_key

__all__ = ["api", "operator_key"]


async def test_the_poster_alone_gets_the_reply_later(
    broker: Cluster, connect: Connect, client: Client, queue: str, api: Call
) -> None:
    await client.create(queue, keep_replies=3600)
    key, other_key = make_key(broker, {queue: {"post"}}), make_key(broker, {queue: {"post"}})
    poster = await connect(token=key.secret)
    stored = await poster.post(queue, "question")
    path = f"/api/messages/{stored['shard']}/{stored['index']}/"

    async def asked(**headers: str) -> dict[str, object]:
        answer = await call(broker.node, "GET", path, headers=headers)
        return {"status": answer.status, **answer.json}

    waiting = await asked(**key.headers)
    assert (waiting["status"], waiting["state"], waiting["outcome"]) == (200, "ready", None)
    message = await client.fetch(queue)
    await client.finish(message, reply="answer")
    await poster.close()
    finished = await asked(**key.headers)
    assert (finished["outcome"], finished["reply"], finished["attempts"]) == ("finished", "answer", 1)
    assert finished["state"] == "ended" and finished["session"] is None
    refused = await asked(**other_key.headers)
    assert (refused["status"], refused["code"], refused["key"]) == (403, "PermissionDenied", queue)
    assert (await asked())["status"] == 403  # somebody without a key posted nothing here
    assert (await api("GET", f"messages/{stored['shard']}/{stored['index']}")).json["reply"] == "answer"


async def test_posts_and_finishes_over_http(broker: Cluster, client: Client, queue: str, api: Call) -> None:
    await client.create(queue, keep_replies=3600)
    key = make_key(broker, {queue: {"post"}})
    sent = await call(broker.node, "POST", "/api/messages", {"queue": queue, "message": "q"}, headers=key.headers)
    [stored] = sent.json["stored"]
    [message] = (await api("POST", "messages/fetch", {"queue": queue, "timeout": 20})).json["messages"]
    await api("POST", "messages/finish", {"receipt": message["receipt"], "reply": [255, 0]})
    answer = await call(broker.node, "GET", f"/api/messages/{stored['shard']}/{stored['index']}/", headers=key.headers)
    assert (answer.json["outcome"], answer.json["reply"]) == ("finished", [255, 0])


async def test_what_was_given_up_says_so(broker: Cluster, connect: Connect, client: Client, queue: str) -> None:
    await client.create(queue, keep_replies=3600, retry_limit=1)
    key = make_key(broker, {queue: {"post"}})
    stored = await (await connect(token=key.secret)).post(queue, "question")
    await client.fail(await client.fetch(queue), error="no idea")
    answer = await call(broker.node, "GET", f"/api/messages/{stored['shard']}/{stored['index']}/", headers=key.headers)
    assert (answer.json["outcome"], answer.json["reason"], answer.json["last_error"]) == ("dead", "failed", "no idea")
    assert answer.json["reply"] is None


@pytest.mark.parametrize("keeps", [0, None])
async def test_other_queues_keep_the_outcome_only(
    broker: Cluster, client: Client, queue: str, api: Call, keeps: float | None
) -> None:
    await client.create(queue, keep_replies=keeps)
    stored = await client.post(queue, "question")
    await client.finish(await client.fetch(queue), reply="answer")
    answer = (await api("GET", f"messages/{stored['shard']}/{stored['index']}")).json
    assert (answer["outcome"], answer["reply"], answer["reply_until"]) == ("finished", None, None)
    assert broker.query("SELECT FROM delivery_keptreply WHERE queue_id = %s", stored["shard"]) == []


async def test_replies_go_when_their_time_is_over(broker: Cluster, client: Client, queue: str, api: Call) -> None:
    shard = (await client.create(queue, keep_replies=0.001))["shard"]
    await client.post(queue, "question")
    await client.finish(await client.fetch(queue), reply="answer")
    while broker.query("SELECT FROM delivery_keptreply WHERE queue_id = %s", shard):
        await client.heard_everything()


async def test_an_operator_turns_it_on_while_the_queue_runs(client: Client, queue: str, api: Call) -> None:
    shard = (await client.create(queue))["shard"]
    await api("PATCH", f"queues/{shard}", {"keep_replies": 3600})
    reply = None
    while reply is None:  # nodes go by it within seconds
        stored = await client.post(queue, "question")
        await client.finish(await client.fetch(queue), reply="answer")
        reply = (await api("GET", f"messages/{shard}/{stored['index']}")).json["reply"]
    assert reply == "answer"
