"""Queues by name and tags, keys, and configurations of services."""

import uuid

from tests.acceptance.api.conftest import Call
from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.http import call
from tests.support.keys import make_key


async def test_a_queue_is_named_by_its_name_and_tags(api: Call, client: Client, queue: str) -> None:
    await client.create(queue)
    await client.create(queue, tags=["eu", "de"])
    plain = (await api("GET", "queue", name=queue)).json
    tagged = (await api("GET", "queue", name=queue, tag=["de", "eu"])).json
    assert (plain["tags"], tagged["tags"]) == ([], ["de", "eu"])
    assert (await api("PATCH", "queue", {"retry_limit": 7}, name=queue, tag=["eu", "de"])).json["retry_limit"] == 7
    assert (await api("GET", f"queues/{tagged['shard']}")).json["retry_limit"] == 7
    assert (await api("POST", "queue/pause", name=queue)).json["paused"] is True
    assert (await api("POST", "queue/resume", name=queue)).json["paused"] is False
    assert (await api("GET", "queue/why", name=queue)).status == 200
    assert (await api("POST", "queue/purge", name=queue)).json["done"] == 0
    assert (await api("DELETE", "queue", name=queue, force="true")).status == 200
    gone = await api("GET", "queue", name=queue)
    assert (gone.status, gone.json["detail"]) == (404, f"There is no queue {queue} without tags.")


async def test_a_queue_needs_its_name_and_a_grant(broker: Cluster, api: Call, client: Client, queue: str) -> None:
    await client.create(queue)
    assert (await api("GET", "queue")).json["key"] == "name"
    stranger = make_key(broker, {"other*": {"fetch"}}).headers
    for name in (queue, f"{queue}-none"):  # nobody learns which queues there are
        assert (await call(broker.node, "GET", "/api/queue", headers=stranger, name=name)).status == 403


async def test_keys_are_made_listed_rotated_expired_and_revoked(api: Call, broker: Cluster, name: str) -> None:
    made = await api("POST", "keys", {"client": name, "grants": ["shop.*:post,fetch"]})
    assert (made.status, made.json["grants"], made.json["state"]) == (201, ["shop.*:post,fetch"], "valid")
    headers = {"Authorization": f"Token {made.json['secret']}"}
    posted = await call(broker.node, "POST", "/api/messages", {"queue": "shop.a", "message": "x"}, headers=headers)
    assert posted.status == 201
    rotated = await api("POST", f"keys/{made.json['id']}/rotate", {})
    assert rotated.json["secret"] != made.json["secret"]
    number = rotated.json["id"]
    later = await api("POST", f"keys/{number}/expire", {"expires_at": "2099-01-01T00:00:00Z"})
    assert later.json["expires_at"] == "2099-01-01T00:00:00Z"
    assert (await api("POST", f"keys/{number}/revoke")).json["state"] == "revoked"
    listed = (await api("GET", "keys", limit=1000)).json["results"]
    assert [key["id"] for key in listed if key["client"] == name] == [made.json["id"], number]
    assert not any("secret" in key for key in listed)
    assert (await api("GET", f"keys/{number}")).json["client"] == name
    assert (await call(broker.node, "GET", "/api/queues", headers=headers)).status == 401


async def test_a_wrong_grant_is_named(api: Call, name: str) -> None:
    answer = await api("POST", "keys", {"client": name, "grants": ["shop.*:psot"]})
    assert answer.status == 400
    assert "'psot' is not a permission" in answer.json["detail"]
    answer = await api("POST", "keys", {"client": name, "grants": [{"pattern": "shop.*", "permissions": ["post"]}]})
    assert (answer.status, answer.json["detail"]) == (400, "grants.0: This must be a text such as orders*:post,fetch.")


async def test_keys_are_for_operators(broker: Cluster, queue: str) -> None:
    headers = make_key(broker, {"*": {"post", "fetch"}}).headers
    assert (await call(broker.node, "GET", "/api/keys", headers=headers)).status == 403
    assert (await call(broker.node, "POST", "/api/keys", {"client": "x"}, headers=headers)).status == 403


async def test_a_service_is_configured(api: Call) -> None:
    service = f"resize-{uuid.uuid4().hex}"
    put = await api("PUT", f"service-configs/{service}", {"config": {"width": 800}})
    assert (put.status, put.json["version"], put.json["config"]) == (200, 1, {"width": 800})
    await api("PUT", f"service-configs/{service}", {"config": {"width": 900}})
    shown = (await api("GET", f"service-configs/{service}")).json
    assert (shown["version"], [one["config"]["width"] for one in shown["versions"]]) == (2, [900, 800])
    assert (await api("DELETE", f"service-configs/{service}")).status == 204
    assert (await api("GET", f"service-configs/{service}")).status == 404
