"""A broker that encrypts by itself: clients, the console, a new certificate while it runs, certificates of callers."""

import asyncio
import http.client
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from tests.support.certificates import Authority
from tests.support.client import LOOK_SECONDS, Client, connected
from tests.support.cluster import PATIENCE, Cluster, Node
from tests.support.fixtures import StartCluster


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    return authority.issue("first")


@pytest.fixture(scope="module", params=["off", "on"], ids=["usual", "plain-daphne"])
def cluster(
    request: pytest.FixtureRequest, start_cluster: StartCluster, authority: Authority, certificate: Path
) -> Iterator[Cluster]:
    """Callers may show a certificate."""
    with start_cluster(
        reaper=True,
        WILLOW_PLAIN_DAPHNE=request.param,
        WILLOW_TLS_CERTIFICATE=str(certificate),
        WILLOW_TLS_CLIENTS="optional",
        WILLOW_TLS_CLIENT_CA=str(authority.file),
    ) as cluster:
        yield cluster


def trusting(authority: Authority, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        context.load_cert_chain(own)
    return context


def url(node: Node) -> str:
    return f"wss://127.0.0.1:{node.port}/connect/"


def shown_name(node: Node, context: ssl.SSLContext) -> str:
    """Of the certificate that a new connection is shown."""
    with http_connection(node, context) as connection:
        connection.connect()
        subject = connection.sock.getpeercert()["subject"]
    return dict(pair for [pair] in subject)["commonName"]


class http_connection(http.client.HTTPSConnection):
    def __init__(self, node: Node, context: ssl.SSLContext) -> None:
        super().__init__("127.0.0.1", node.port, context=context, timeout=PATIENCE)

    def __enter__(self) -> "http_connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def goes_both_ways(client: Client, queue: str) -> None:
    bodies = ["small", "x" * 3_000_000, "last"]
    await client.post_all(queue, bodies)
    fetched = await client.fetch_all(queue, 3)
    assert [message["body"] for message in fetched] == bodies
    for message in fetched:
        await client.finish(message)


async def test_clients_and_large_messages(cluster: Cluster, authority: Authority, queue: str) -> None:
    async with connected(url(cluster.node), ssl=trusting(authority)) as client:
        await goes_both_ways(client, queue)
    [(address,)] = cluster.query("SELECT url FROM clients_node")
    assert address.startswith("wss://")


async def test_the_console_tells_browsers_to_stay_encrypted(cluster: Cluster, authority: Authority) -> None:
    def look() -> http.client.HTTPResponse:
        with http_connection(cluster.node, trusting(authority)) as connection:
            connection.request("GET", "/admin/login/")
            return connection.getresponse()

    page = await asyncio.to_thread(look)
    assert page.status == 200
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert all("; Secure" in cookie for cookie in page.headers.get_all("Set-Cookie"))


async def test_plain_text_is_refused(cluster: Cluster) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", cluster.node.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(PATIENCE):
        assert b"HTTP/1.1" not in await reader.read()
    writer.close()


async def test_a_new_certificate_is_used_after_a_signal_and_a_bad_one_is_not(
    cluster: Cluster, authority: Authority, certificate: Path, queue: str
) -> None:
    node, context = cluster.node, trusting(authority)
    async with connected(url(node), ssl=context) as client:
        name = f"second-{queue}"[:40]
        authority.issue(name, certificate)
        node.send(signal.SIGHUP)
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(shown_name, node, context) != name:
                await asyncio.sleep(LOOK_SECONDS)
        await asyncio.to_thread(certificate.write_text, "no certificate")
        node.send(signal.SIGHUP)
        async with asyncio.timeout(PATIENCE):
            while "the old one stays" not in node.log.read_text():
                await asyncio.sleep(LOOK_SECONDS)
        assert await asyncio.to_thread(shown_name, node, context) == name
        await goes_both_ways(client, queue)  # an open connection notices nothing
    authority.issue("first", certificate)


async def test_certificates_of_callers(
    start_cluster: StartCluster, tmp_path: Path, authority: Authority, certificate: Path, queue: str
) -> None:
    stranger = Authority(tmp_path, "stranger").issue("somebody")
    with start_cluster(
        WILLOW_TLS_CERTIFICATE=str(certificate),
        WILLOW_TLS_CLIENTS="required",
        WILLOW_TLS_CLIENT_CA=str(authority.file),
    ) as cluster:
        for own in (None, stranger):
            with pytest.raises((ssl.SSLError, WebSocketException, OSError, EOFError)):
                async with connected(url(cluster.node), ssl=trusting(authority, own)):
                    pass
        async with connected(url(cluster.node), ssl=trusting(authority, authority.issue("known"))) as client:
            await goes_both_ways(client, queue)
