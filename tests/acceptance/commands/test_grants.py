"""Section 9 of the protocol: every command against every kind of grant, and who is let in at all."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.client import Client, Fields
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import Connect, StartCluster
from tests.support.keys import Grants, make_key
from willow_site.project_folder import PROJECT_FOLDER

PERMISSIONS = {"post", "fetch", "create", "serve", "request", "admin"}
NOTHING: set[str] = set()


@dataclass(frozen=True)
class Command:
    """A command about a queue, the permission that it needs, and the answer that it gets if it has it."""

    needs: str | None
    fields: Fields
    answer: Fields


def some_message(**fields: Any) -> Fields:
    """The name of a message that nobody holds: whoever may name it is told that it is not there."""
    return {"queue": "{queue}", "shard": 1, "sequence": 2**62, **fields}


COMMANDS = {
    "create": Command("create", {"queue": "{queue}"}, {"type": "queue"}),
    "post": Command(
        "post", {"queue": "{queue}", "message": "m", "notify": ["sync"]}, {"type": "notice", "notice": "sync"}
    ),
    "pop": Command("fetch", {"queue": "{queue}"}, {}),
    "fetch": Command("fetch", {"queue": "{queue}"}, {}),
    "finish": Command("fetch", some_message(), {"type": "error", "code": "NoObject"}),
    "fail": Command("fetch", some_message(), {"type": "error", "code": "NoObject"}),
    "keepalive": Command("fetch", some_message(), {"type": "error", "code": "NoObject"}),
    "release": Command("fetch", some_message(), {"type": "error", "code": "NoObject"}),
    "cancel": Command("post", {"queue": "{queue}", "shard": 1, "index": 2**62}, {"type": "error", "code": "NoObject"}),
    "keepalive of all": Command(None, {"type": "keepalive"}, {"type": "notice", "notice": "keepalive"}),
    "subscribe": Command("fetch", {"queue": "{queue}"}, {"type": "subscribed"}),
    "unsubscribe": Command(None, {}, {"type": "error", "code": "NoObject"}),
    "register": Command(None, {"name": "{owner}", "persistent": True}, {"type": "registered"}),
}


@dataclass(frozen=True)
class Kind:
    """A key's grants, and what they come to on a queue and on its dead letter queue."""

    grants: Grants
    on_queue: set[str]
    on_dead_letters: set[str]


KINDS = {
    **{f"{name} alone": Kind({"{queue}": {name}}, {name}, NOTHING) for name in sorted(PERMISSIONS)},
    "none": Kind({}, NOTHING, NOTHING),
    "the queue": Kind({"{queue}": PERMISSIONS}, PERMISSIONS, NOTHING),
    "a wildcard": Kind({"{queue}*": PERMISSIONS}, PERMISSIONS, PERMISSIONS),
    "everything": Kind({"*": PERMISSIONS}, PERMISSIONS, PERMISSIONS),
    "a wildcard in front": Kind({"*.dead": {"fetch"}}, NOTHING, {"fetch"}),
    "the dead letters": Kind({"{queue}.dead": PERMISSIONS}, NOTHING, PERMISSIONS),
    "another queue": Kind({"{queue}x": PERMISSIONS, "x{queue}": PERMISSIONS}, NOTHING, NOTHING),
    "two patterns": Kind({"{queue}": {"post"}, "*": {"fetch"}}, {"post", "fetch"}, {"fetch"}),
    "signs that are no wildcard": Kind({"?{queue}": PERMISSIONS, "[a-z]*": PERMISSIONS}, NOTHING, NOTHING),
}


def filled_in(template: Any, **names: str) -> Any:
    """The table's texts with the names of this run."""
    filled = json.dumps(template)
    for name, value in names.items():
        filled = filled.replace(f"{{{name}}}", value)
    return json.loads(filled)


async def answer_to(client: Client, name: str, command: Command, **names: str) -> Fields:
    label = client.label()
    await client.send({"type": name, "label": label, **filled_in(command.fields, **names)})
    return await client.next(label)


def was_refused(answer: Fields, queue: str) -> bool:
    return (answer["type"], answer.get("code"), answer.get("key")) == ("error", "PermissionDenied", queue)


@pytest.mark.parametrize("dead_letters", [False, True], ids=["its queue", "its dead letters"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_every_command_against_every_kind_of_grant(
    broker: Cluster, connect: Connect, queue: str, kind: Kind, dead_letters: bool
) -> None:
    grants = {filled_in(pattern, queue=queue): permissions for pattern, permissions in kind.grants.items()}
    granted = kind.on_dead_letters if dead_letters else kind.on_queue
    target = f"{queue}.dead" if dead_letters else queue
    key = make_key(broker, grants)
    client = await connect(headers=key.headers)
    for name, command in COMMANDS.items():
        answer = await answer_to(client, name, command, queue=target, owner=key.client)
        if command.needs is None or command.needs in granted:
            assert answer | command.answer == answer, name
            assert not was_refused(answer, target), name
        else:
            assert was_refused(answer, target), (name, answer)
    made = broker.query("SELECT count(*) FROM queues_queue WHERE name = %s", target)
    assert made == [(1 if granted & {"post", "fetch", "create"} else 0,)], "a refused command leaves no trace"


async def test_a_post_to_several_queues_needs_a_grant_on_each(broker: Cluster, connect: Connect, queue: str) -> None:
    client = await connect(headers=make_key(broker, {queue: PERMISSIONS}).headers)
    label = await client.begin("post", [queue, f"{queue}-other"], message="m", notify=["sync"])
    await client.expect(label, type="error", code="PermissionDenied", key=f"{queue}-other")
    await client.finds_nothing(queue)


async def test_a_queue_that_comes_to_be_later_is_read_only_where_its_name_is_granted(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    reader = await connect(headers=make_key(broker, {queue: {"fetch"}}).headers)
    label = await reader.begin("subscribe", queue, tags=["later"], match="strict")
    await reader.expect(label, type="subscribed", queues=[])
    await client.post(f"{queue}.dead", "not for the reader", tags=["later"])
    await client.post(queue, "for the reader", tags=["later"])
    await reader.expect(label, type="message", queue=queue, body="for the reader")


# a live connection whose key changes


def run_manage(cluster: Cluster, *arguments: str) -> str:
    """A command of manage.py on the cluster's database; what it prints."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT_FOLDER,
        env={**os.environ, "DATABASE_URL": cluster.database_url},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


async def test_revoking_closes_the_connections_of_the_key_and_no_others(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    create = ["key", "create", "--client", queue, "--grant", f"{queue}:post,fetch"]
    revoked, kept = [run_manage(broker, *create) for _ in range(2)]
    worker = await connect(headers={"Authorization": f"Token {revoked}"}, hold=PATIENCE)
    bystander = await connect(headers={"Authorization": f"Token {kept}"})
    await bystander.post(queue, "m")
    await worker.fetch(queue)
    run_manage(broker, "key", "revoke", revoked[:12])
    assert await worker.closed_by_broker() == 4401
    assert (await bystander.fetch(queue, block_timeout=PATIENCE))["attempt"] == 2
    assert await refused_code(broker.node, headers={"Authorization": f"Token {revoked}"}) == 4401


async def test_an_expired_key_closes_its_connections(broker: Cluster, connect: Connect) -> None:
    key = make_key(broker, {})
    client = await connect(headers=key.headers)
    key.expire()
    assert await client.closed_by_broker() == 4401


async def test_new_grants_hold_for_connections_that_are_there(broker: Cluster, connect: Connect, queue: str) -> None:
    key = make_key(broker, {})
    client = await connect(headers=key.headers)
    for grants, answer in (({queue: {"post"}}, "notice"), ({queue: {"request"}}, "error")):
        key.grant(grants)
        async with asyncio.timeout(PATIENCE):
            while await type_of_answer_to_post(client, queue) != answer:
                pass


async def type_of_answer_to_post(client: Client, queue: str) -> str:
    label = await client.begin("post", queue, message="m", notify=["sync"])
    answer: str = (await client.next(label))["type"]
    return answer


@pytest.mark.parametrize("command", ["subscribe", "fetch"])
async def test_who_waits_for_a_queue_that_is_no_longer_granted_is_closed(
    broker: Cluster, connect: Connect, queue: str, command: str
) -> None:
    key = make_key(broker, {"*": {"fetch", "post"}})
    reader = await connect(headers=key.headers)
    await reader.begin(command, queue, **({"block_timeout": PATIENCE} if command == "fetch" else {}))
    await reader.heard_everything()
    key.grant({"*": {"post"}})
    assert await reader.closed_by_broker() == 4401


async def test_what_a_client_read_and_held_is_not_restored_without_the_grant(
    broker: Cluster, connect: Connect, client: Client, queue: str
) -> None:
    other_queue = f"{queue}-other"
    key = make_key(broker, {f"{queue}*": {"fetch"}})
    first = await connect(headers=key.headers, hold=PATIENCE)
    await first.register(key.client)
    for label, name in ((1001, queue), (1002, other_queue)):
        await first.send({"type": "subscribe", "queue": name, "label": label})
        await first.expect(label, type="subscribed")
        await client.post(name, "held")
        await first.expect(label, type="message", body="held")
    await first.close()
    key.grant({other_queue: {"fetch"}})
    second = await connect(headers=key.headers)
    await second.register_when_free(key.client)
    await second.expect(1002, type="message", body="held")
    await client.post(queue, "not granted any more")
    await client.post(other_queue, "still granted")
    await second.expect(1002, type="message", body="still granted")
    assert not second.unread()
    assert (await client.fetch(queue))["body"] == "not granted any more"


async def test_nobody_else_becomes_a_client_that_has_keys(broker: Cluster, connect: Connect, client: Client) -> None:
    owner, stranger = make_key(broker, {}), make_key(broker, {"*": PERMISSIONS})
    for other in (client, await connect(headers=stranger.headers)):
        await other.send({"type": "register", "name": owner.client, "persistent": True, "label": 1001})
        await other.expect(1001, type="error", code="PermissionDenied", key=owner.client)


# ids


async def test_an_id_is_taken_up_again_only_with_its_key(broker: Cluster, connect: Connect, queue: str) -> None:
    key = make_key(broker, {queue: {"post", "fetch"}})
    first = await connect(headers=key.headers, hold=PATIENCE)
    await first.post(queue, "m")
    held = await first.fetch(queue)
    await first.close()
    for headers in (make_key(broker, {"*": PERMISSIONS}).headers, {}):
        intruder = await connect(headers=headers, id=first.id)
        assert not intruder.id
        assert await intruder.closed_by_broker() == 4403
        assert json.loads(intruder.received[0]) | {"message": None} == {
            "type": "error", "label": None, "code": "PermissionDenied", "key": "id", "message": None
        }  # fmt: skip
    again = await connect(headers=key.headers, id=first.id)
    assert again.id == first.id
    await again.finish(held)


# who is let in at all


async def refused_code(node: Node, **how: Any) -> int | None:
    """The code with which a socket is closed that tries to post; None if it is let in."""
    headers, query = how.pop("headers", {}), urlencode(how)
    command = {"type": "post", "queue": "who-is-let-in", "message": "m", "notify": ["sync"]}
    async with connect_websocket(f"{node.url}?{query}", additional_headers=headers) as socket:
        try:
            async with asyncio.timeout(PATIENCE):
                await socket.send(json.dumps(command))
                frames = [json.loads(await socket.recv()) for _ in range(2)]
        except ConnectionClosed:
            return socket.close_code
    assert [frame["type"] for frame in frames] == ["hello", "notice"]
    return None


async def http_status(node: Node, headers: dict[str, str]) -> int:
    request = urllib.request.Request(f"{node.http_url}/status/nothing", headers=headers)

    def status() -> int:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    return await asyncio.to_thread(status)


HERE, ELSEWHERE = "127.0.0.1", "203.0.113.9"
ANONYMOUS = [
    (
        "loopback",
        "",
        [
            ({}, True),
            ({"X-Forwarded-For": ELSEWHERE}, False),
            ({"X-Forwarded-For": HERE}, False),
            ({"Forwarded": "for=127.0.0.1"}, False),
        ],
    ),
    (
        "loopback",
        "127.0.0.1",
        [
            ({}, True),
            ({"X-Forwarded-For": HERE}, True),
            ({"X-Forwarded-For": ELSEWHERE}, False),
            ({"X-Forwarded-For": f"{HERE}, {ELSEWHERE}"}, False),
            ({"Forwarded": "for=127.0.0.1"}, False),
        ],
    ),
    ("loopback", "10.0.0.0/8", [({"X-Forwarded-For": HERE}, False), ({"X-Forwarded-For": ELSEWHERE}, False)]),
    ("all", "", [({}, True), ({"X-Forwarded-For": ELSEWHERE}, True)]),
    ("none", "", [({}, False), ({"X-Forwarded-For": HERE}, False)]),
]


@pytest.mark.parametrize(("rule", "proxies", "callers"), ANONYMOUS)
async def test_who_comes_in_without_a_key(
    start_cluster: StartCluster, rule: str, proxies: str, callers: list[tuple[dict[str, str], bool]]
) -> None:
    with start_cluster(WILLOW_ANONYMOUS=rule, WILLOW_TRUSTED_PROXIES=proxies) as cluster:
        for headers, let_in in callers:
            assert await refused_code(cluster.node, headers=headers) == (None if let_in else 4401), headers
            assert await http_status(cluster.node, headers) == (404 if let_in else 401), headers
        stored = cluster.query("SELECT count(*) FROM delivery_message")
        assert stored == [(sum(let_in for _, let_in in callers),)], "nothing is read from who is not let in"
        key = make_key(cluster, {"*": {"post"}})
        proxied = key.headers | {"X-Forwarded-For": ELSEWHERE}
        assert await refused_code(cluster.node, headers=proxied) is None


@pytest.mark.parametrize("how", [{"headers": {"Authorization": "Token wk_wrong"}}, {"token": "wk_wrong"}])
async def test_a_wrong_key_is_not_let_in_even_from_here(broker: Cluster, how: dict[str, Any]) -> None:
    assert await refused_code(broker.node, **how) == 4401


@pytest.mark.parametrize("how", [{}, {"binary": "true"}, {"id": "some-id"}])
async def test_who_is_not_let_in_is_told_so_before_the_close(connect: Connect, how: dict[str, str]) -> None:
    refused = await connect(token="wk_wrong", **how)
    said = {name: refused.greeting.get(name) for name in ("type", "label", "code", "key")}
    assert said == {"type": "error", "label": None, "code": "PermissionDenied", "key": "token"}
    assert await refused.closed_by_broker() == 4401


async def test_a_key_may_stand_in_the_address(broker: Cluster) -> None:
    assert await refused_code(broker.node, token=make_key(broker, {"*": {"post"}}).secret) is None


@pytest.mark.parametrize(
    ("origin", "let_in"),
    [
        ("http://127.0.0.1:8080", True),
        ("https://localhost", True),
        ("http://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
    ],
)
async def test_browsers_are_held_to_the_allowed_hosts(broker: Cluster, origin: str, let_in: bool) -> None:
    key = make_key(broker, {"*": {"post"}})
    if let_in:
        assert await refused_code(broker.node, headers=key.headers | {"Origin": origin}) is None
    else:
        with pytest.raises(InvalidStatus) as refusal:
            await refused_code(broker.node, headers=key.headers | {"Origin": origin})
        assert refusal.value.response.status_code == 403
