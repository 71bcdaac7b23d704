"""Clients that do their part by halves: they send and never read, or begin messages and never end them."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

from delivery.operating.sessions import session_disconnect
from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.keys import make_key
from tests.support.operators import OPERATOR, Operators, operators
from tests.support.raw_websocket import PING, SMALL_BUFFER, RawWebSocket, frame
from tests.support.scrapes import scrape
from willow_site.processes import wait_until

__all__ = ["operators"]

MEBIBYTE = 1024 * 1024
FRAME_BYTES = 4 * MEBIBYTE
GRANTS = {"*": {"post", "fetch"}}


SETTINGS = {
    "WILLOW_NODE_UNREAD_BYTES": str(32 * MEBIBYTE),
    "WILLOW_MAX_FRAME_BYTES": str(FRAME_BYTES),
    "WILLOW_MAX_BODY_BYTES": str(FRAME_BYTES),
}


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """It gives nobody up while a test still looks, however slow the machine is."""
    with start_cluster(WILLOW_UNREAD_SECONDS=str(10 * PATIENCE), **SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def hasty(start_cluster: StartCluster) -> Iterator[Cluster]:
    """It gives up who does not read."""
    with start_cluster(WILLOW_UNREAD_SECONDS="2", **SETTINGS) as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect: Connect) -> Client:
    return await connect(cluster.node)


@pytest.fixture
def mute(cluster: Cluster) -> Iterator[RawWebSocket]:
    """A client that never reads."""
    websocket = RawWebSocket(cluster.node.url)
    yield websocket
    websocket.close()


async def post_large(client: Client, queue: str, count: int) -> None:
    for _ in range(count):
        await client.post(queue, "x" * MEBIBYTE)


def unread_bytes(cluster: Cluster) -> float:
    return scrape(cluster.node).value("willow_unread_bytes")


def memory(cluster: Cluster) -> int:
    process = cluster.node._process
    assert process is not None
    return int(psutil.Process(process.pid).memory_info().rss)


class HttpCaller:
    """A client over HTTP that never reads."""

    def __init__(self, cluster: Cluster) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        self._socket.connect(("127.0.0.1", cluster.node.port))

    def ask(self, path: str, fields: dict[str, Any]) -> None:
        body = json.dumps(fields).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        self._socket.sendall("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)

    def close(self) -> None:
        self._socket.close()


async def ends(websocket: RawWebSocket) -> bool:
    return await asyncio.to_thread(wait_until, websocket.has_ended, PATIENCE)


async def posts_until_closed(websocket: RawWebSocket, queue: str) -> None:
    """Post and never read, as fast as the broker takes it."""
    post = frame(json.dumps({"type": "post", "queue": queue, "message": "late", "notify": ["ready"]}).encode())
    async with asyncio.timeout(PATIENCE):
        while websocket.try_to_send(post * 100) and not websocket.has_ended():
            await asyncio.sleep(0)


async def test_a_revoked_key_does_nothing_more_though_its_client_does_not_read(
    cluster: Cluster, client: Client, queue: str
) -> None:
    await post_large(client, queue, 8)
    key = make_key(cluster, GRANTS)
    websocket = RawWebSocket(cluster.node.url, key.headers)
    websocket.send({"type": "fetch", "queue": queue, "count": 8})  # the close would wait behind it
    assert await asyncio.to_thread(wait_until, lambda: unread_bytes(cluster) > 0, PATIENCE)
    posting = asyncio.create_task(posts_until_closed(websocket, f"{queue}-late"))
    key.expire()
    await posting
    [(posted,)] = cluster.query(
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s",
        f"{queue}-late",
    )
    await client.finds_nothing(f"{queue}-nothing")
    [(still,)] = cluster.query(
        "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s",
        f"{queue}-late",
    )
    assert posted == still
    for _ in range(8):  # what it held is for others, as soon as the broker has noted that it has gone
        await client.fetch(queue, block_timeout=PATIENCE)
    websocket.close()


async def test_an_operator_closes_the_connection_of_a_client_that_does_not_read(
    cluster: Cluster, client: Client, mute: RawWebSocket, queue: str, operators: Operators
) -> None:
    await post_large(client, queue, 8)
    mute.send({"type": "fetch", "queue": queue, "count": 8})
    assert await asyncio.to_thread(wait_until, lambda: unread_bytes(cluster) > 0, PATIENCE)
    [(session_id,)] = cluster.query("SELECT max(id) FROM clients_session WHERE node_id IS NOT NULL")
    await operators.on(cluster, session_disconnect, session_id=session_id, by=OPERATOR)
    assert await ends(mute)
    assert len(await client.fetch_all(queue, 8)) == 8


async def test_who_asks_for_much_and_reads_nothing_is_given_a_part_of_it_and_closed(
    hasty: Cluster, connect: Connect, queue: str
) -> None:
    client = await connect(hasty.node)
    await post_large(client, queue, 100)
    before, given_up = memory(hasty), scrape(hasty.node).value("willow_sockets_given_up_total")
    mute = RawWebSocket(hasty.node.url)
    mute.send(*({"type": "fetch", "queue": queue, "count": 1000, "block_timeout": 60} for _ in range(50)))
    assert await ends(mute)
    assert scrape(hasty.node).value("willow_sockets_given_up_total") == given_up + 1
    assert memory(hasty) - before < 80 * MEBIBYTE
    label = await client.begin("fetch", queue, count=10)
    assert len(await client.messages(label, 10)) == 10
    assert await asyncio.to_thread(wait_until, lambda: unread_bytes(hasty) < MEBIBYTE, PATIENCE)
    mute.close()
    await client.close()


async def test_connections_that_each_leave_little_unread_are_bounded_in_all(
    cluster: Cluster, client: Client, queue: str
) -> None:
    await post_large(client, queue, 98)
    given_up = scrape(cluster.node).value("willow_sockets_given_up_total")
    mutes = [RawWebSocket(cluster.node.url) for _ in range(14)]
    for mute in mutes:
        mute.send({"type": "fetch", "queue": queue, "count": 7, "block_timeout": 60})  # less than makes it crowded
    assert await asyncio.to_thread(
        wait_until, lambda: scrape(cluster.node).value("willow_sockets_given_up_total") > given_up, PATIENCE
    )
    assert unread_bytes(cluster) <= 32 * MEBIBYTE
    await client.post(f"{queue}-other", "m")
    for mute in mutes:
        mute.close()


async def test_answers_over_http_that_nobody_reads_are_bounded_in_all(
    cluster: Cluster, client: Client, queue: str
) -> None:
    for _ in range(20):
        await client.post(queue, "x" * (3 * MEBIBYTE))
    given_up = scrape(cluster.node).value("willow_sockets_given_up_total")
    callers = [HttpCaller(cluster) for _ in range(5)]
    for caller in callers:
        for _ in range(4):
            caller.ask("/api/messages/fetch", {"queue": queue})
    assert await asyncio.to_thread(
        wait_until, lambda: scrape(cluster.node).value("willow_sockets_given_up_total") > given_up, PATIENCE
    )
    assert unread_bytes(cluster) <= 32 * MEBIBYTE
    await client.post(f"{queue}-other", "m")
    for caller in callers:
        caller.close()


async def test_long_answers_without_bodies_count_with_all_that_they_name(
    cluster: Cluster, client: Client, mute: RawWebSocket, queue: str
) -> None:
    tags = [f"{number:0200}" for number in range(63)]
    for number in range(100):
        await client.create(queue, tags=[*tags, str(number)])
    mute.send(*({"type": "subscribe", "queue": queue, "label": label} for label in range(60)))  # 1.2 MB for each
    assert await ends(mute)


async def test_a_slow_reader_gets_everything(cluster: Cluster, client: Client, mute: RawWebSocket, queue: str) -> None:
    await post_large(client, queue, 20)
    mute.send({"type": "subscribe", "queue": queue, "in_flight": 1000, "label": 1})
    assert await asyncio.to_thread(
        wait_until, lambda: scrape(cluster.node).value("willow_sockets_crowded") == 1, PATIENCE
    )
    received = 0
    while received < 20 * MEBIBYTE:
        data = await asyncio.to_thread(mute.socket.recv, MEBIBYTE)
        assert data, "the broker has closed the connection"
        received += len(data)


async def test_pings_without_reading_are_not_answered_for_ever(
    cluster: Cluster, client: Client, mute: RawWebSocket, queue: str
) -> None:
    before = memory(cluster)
    pings = frame(b"x" * 100, opcode=PING) * 1000
    for _ in range(300):
        assert mute.try_to_send(pings)
        await asyncio.sleep(LOOK_SECONDS / 10)
    await client.post(queue, "m")
    assert memory(cluster) - before < 10 * MEBIBYTE


@pytest.mark.parametrize("registered", [False, True])
async def test_who_holds_more_than_may_be_unread_at_once_gets_all_of_it_again(
    cluster: Cluster, client: Client, connect: Connect, queue: str, name: str, registered: bool
) -> None:
    """In slices: as one answer it would be more than a connection may have, and the client could never come back."""
    count = 72  # MiB, and 64 at once are too much
    await post_large(client, queue, count)
    reader = await connect(cluster.node, hold=PATIENCE)
    if registered:
        await reader.register(name)
    label = await reader.subscribe(queue, in_flight=count)
    held = await reader.messages(label, count)
    await reader.close()
    back = await connect(cluster.node, **({"hold": 1} if registered else {"id": reader.id, "resend": "true"}))
    if registered:
        await back.register_when_free(name)
    again = await back.messages(label if registered else None, count)
    assert [message["index"] for message in again] == [message["index"] for message in held]
    for message in again:
        await back.finish(message)


async def test_messages_that_never_become_whole_are_bounded_in_all_connections(
    cluster: Cluster, client: Client, queue: str
) -> None:
    part = frame(json.dumps({"type": "post", "queue": queue, "message": "x" * 3 * MEBIBYTE}).encode())[:-1]
    sockets = [RawWebSocket(cluster.node.url) for _ in range(8)]  # 24 MiB, and four of the largest are 16
    for one in sockets:
        with suppress(OSError):  # one of those that were closed
            await asyncio.to_thread(one.socket.sendall, part)

    def given_up() -> float:
        return scrape(cluster.node).value("willow_senders_given_up_total")

    assert await asyncio.to_thread(wait_until, lambda: given_up() >= 1, PATIENCE)
    assert scrape(cluster.node).value("willow_incoming_bytes") <= 4 * FRAME_BYTES
    await client.post(queue, "m")
    assert await asyncio.to_thread(wait_until, lambda: any(one.has_ended() for one in sockets), PATIENCE)
    for one in sockets:
        one.close()
    assert await asyncio.to_thread(
        wait_until, lambda: scrape(cluster.node).value("willow_incoming_bytes") == 0, PATIENCE
    )
