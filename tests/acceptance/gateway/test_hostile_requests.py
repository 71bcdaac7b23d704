"""Requests that are too large, never end, or come too often: refused with a reason, without a key and without delay."""

import asyncio
import json
import time
from collections.abc import Iterator
from socket import AddressFamily
from typing import Any

import psutil
import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.scrapes import fetch
from willow_site.login_throttle import BURST_SECONDS

MEBIBYTE = 1024 * 1024
CHUNK = b"10000\r\n" + bytes(0x10000) + b"\r\n"


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(WILLOW_LOGINS_PER_MINUTE="60") as cluster:
        yield cluster


@pytest.fixture
async def client(cluster: Cluster, connect: Connect) -> Client:
    return await connect(cluster.node)


class Request:
    """A request that is sent piece by piece."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> bool:
        """False if the broker takes no more."""
        try:
            self._writer.write(data)
            await asyncio.wait_for(self._writer.drain(), PATIENCE)
        except ConnectionError:
            return False
        return True

    async def answer(self) -> tuple[int, dict[str, Any]]:
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), PATIENCE)
        return int(head.split()[1]), json.loads(await asyncio.wait_for(self._reader.read(), PATIENCE))

    async def end(self) -> None:
        self._writer.close()


async def begin(cluster: Cluster, *lines: str, more: bool = False) -> Request:
    """`more`: further headers would follow."""
    request = Request(*await asyncio.open_connection("127.0.0.1", cluster.node.port))
    await request.send("\r\n".join((*lines, *(("",) if more else ("", "")))).encode())
    return request


@pytest.mark.parametrize("path", ["/admin/login/", "/nowhere", "/api/messages", "/connect/"])
async def test_a_body_that_announces_too_much_is_refused_before_it_comes(cluster: Cluster, path: str) -> None:
    request = await begin(cluster, f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {1024 * MEBIBYTE}")
    status, problem = await request.answer()
    assert (status, problem["code"]) == (413, "TooLarge")
    assert problem["detail"].startswith("The body of this request may have at most ")
    await request.end()


async def test_a_body_of_unknown_length_is_refused_while_it_comes(cluster: Cluster, client: Client, queue: str) -> None:
    process = cluster.node._process
    assert process is not None
    before = psutil.Process(process.pid).memory_info().rss
    request = await begin(cluster, "POST /nowhere HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked")
    sent = 0
    while sent < 4 * MEBIBYTE and await request.send(CHUNK):
        sent += len(CHUNK)
    assert (await request.answer())[0] == 413
    while sent < 256 * MEBIBYTE and await request.send(CHUNK):
        sent += len(CHUNK)
    assert sent < 256 * MEBIBYTE, "it went on reading"
    assert psutil.Process(process.pid).memory_info().rss - before < 40 * MEBIBYTE
    await client.post(queue, "m")


async def test_large_bodies_that_never_come_leave_room_for_small_ones(cluster: Cluster) -> None:
    size = 30 * MEBIBYTE
    lines = ("POST /api/messages HTTP/1.1", "Host: localhost", f"Content-Length: {size}")
    held = [await begin(cluster, *lines) for _ in range(2)]
    third = await begin(cluster, *lines)
    status, problem = await third.answer()
    assert (status, problem["code"]) == (503, "Overloaded")
    assert fetch(cluster.node, "/status/nothing")[0] == 404
    for request in (*held, third):
        await request.end()


async def test_many_bodies_of_unknown_length_are_refused_when_together_they_are_too_large(cluster: Cluster) -> None:
    """Each grows by little at a time, and all of them have room for 64 MiB."""
    lines = ("POST /api/messages HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked")
    requests = [await begin(cluster, *lines) for _ in range(10)]
    for request in requests:
        for _ in range(8 * MEBIBYTE // 0x10000):
            if not await request.send(CHUNK):
                break
    [*_, ninth, tenth] = requests
    for request in (ninth, tenth):
        status, problem = await request.answer()
        assert (status, problem["code"]) == (503, "Overloaded")
    assert fetch(cluster.node, "/status/nothing")[0] == 404
    for request in requests:
        await request.end()


async def test_bodies_that_take_turns_arrive_as_they_were_sent(cluster: Cluster, client: Client, queue: str) -> None:
    """While a client is active, they come in by parts with pauses between them."""
    letters, size = "abcdefgh", 2 * MEBIBYTE
    other = f"{queue}-of-requests"
    await client.create(other)

    async def post(letter: str) -> int:
        body = json.dumps({"queue": other, "message": letter * size}).encode()
        lines = ("Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}")
        request = await begin(cluster, "POST /api/messages/ HTTP/1.1", *lines)
        assert await request.send(body)
        head = await asyncio.wait_for(request._reader.readline(), PATIENCE)
        await request.end()
        return int(head.split()[1])

    posts = asyncio.gather(*(post(letter) for letter in letters))
    while not posts.done():
        await client.post(queue, "m")
    assert set(await posts) == {201}
    found = [(await client.fetch(other))["body"] for _ in letters]
    assert sorted(found) == [letter * size for letter in letters]


async def test_half_a_request_ends_in_time(cluster: Cluster) -> None:
    halves = [await begin(cluster, "GET /healthz HTTP/1.1", more=True) for _ in range(500)]
    assert fetch(cluster.node, "/healthz")[0] == 200
    # The last ones: by the time that all are there, the time of the first may be over.
    watched = [
        await begin(cluster, "GET /healthz HTTP/1.1", more=True),
        await begin(cluster, "GET /connect/ HTTP/1.1", "Upgrade: websocket", more=True),
    ]
    for request in watched:
        assert await request.send(b"X-More: ")
    for request in watched:
        status, problem = await request.answer()
        assert (status, problem["detail"]) == (408, "The request was not complete after 10 seconds.")
    for request in (*halves, *watched):
        await request.end()


@pytest.mark.parametrize("method", ["POST", "post"])  # which are the same to Django
async def test_many_logins_at_once_are_refused_quickly_and_probes_answer(cluster: Cluster, method: str) -> None:
    """The right account and the wrong one: neither may keep others from being served."""

    async def log_in(number: int) -> int:
        form = f"username=user{number}&password=wrong".encode()
        request = await begin(
            cluster,
            f"{method} /admin/login/ HTTP/1.1",
            "Host: localhost",
            "Connection: close",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(form)}",
        )
        await request.send(form)
        head = await asyncio.wait_for(request._reader.readline(), PATIENCE)
        await request.end()
        return int(head.split()[1])

    began = time.monotonic()
    logins = [asyncio.create_task(log_in(number)) for number in range(220)]
    assert fetch(cluster.node, "/healthz")[0] == 200
    statuses = await asyncio.gather(*logins)
    allowed = BURST_SECONDS + (time.monotonic() - began)  # one a second; on a slow machine more come in their time
    assert statuses.count(403) <= allowed + 1
    assert set(statuses) <= {403, 429, 503}, set(statuses)  # 403: looked at, and its form was not ours


def outer_address() -> str:
    """One of this machine's own: callers on the loopback have no limit."""
    found = (one for each in psutil.net_if_addrs().values() for one in each if one.family == AddressFamily.AF_INET)
    return next((one.address for one in found if not one.address.startswith("127.")), "")


@pytest.mark.skipif(not outer_address(), reason="this machine has only a loopback")
async def test_an_address_has_so_many_connections(start_cluster: StartCluster) -> None:
    address, most = outer_address(), 3
    settings = {"WILLOW_BIND": "0.0.0.0", "WILLOW_ADDRESS_CONNECTIONS": str(most)}
    with start_cluster(**settings) as cluster:

        async def come() -> Request:
            return Request(*await asyncio.open_connection(address, cluster.node.port))

        async def ask() -> int:
            request = await come()
            await request.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head = await asyncio.wait_for(request._reader.readline(), PATIENCE)
            await request.end()
            return int(head.split()[1])

        held = [await come() for _ in range(most)]
        status, problem = await (await come()).answer()
        assert (status, problem["code"], problem["key"]) == (503, "Overloaded", str(most))
        assert fetch(cluster.node, "/healthz")[0] == 200, "others go on"
        await held.pop().end()
        async with asyncio.timeout(PATIENCE):
            while await ask() != 200:  # until the broker has seen that one has gone
                pass
        for request in held:
            await request.end()


async def test_json_of_too_many_values_is_refused_over_http(cluster: Cluster) -> None:
    body = b'{"message": [' + b'{"":0},' * MEBIBYTE + b"0]}"
    request = await begin(
        cluster,
        "POST /api/messages HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    await request.send(body)
    status, problem = await request.answer()
    assert status == 400 and "more than 200000 values" in problem["detail"], problem
