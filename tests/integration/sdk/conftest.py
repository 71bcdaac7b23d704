"""Clients of real brokers, for all tests of the SDK."""

from collections.abc import AsyncIterator, Iterator

import pytest
import willow_client
from willow_client import Client, claims
from willow_client.websocket import WebSocket

from tests.support import fixtures
from tests.support.cluster import Cluster
from tests.support.fixtures import StartCluster
from tests.support.keepalives import Keepalives
from tests.support.proxy import Proxy, proxied

broker, start_cluster = fixtures.broker, fixtures.start_cluster
queue, name, service = fixtures.queue, fixtures.name, fixtures.service


@pytest.fixture
async def client(broker: Cluster) -> AsyncIterator[Client]:
    async with willow_client.connect(broker.node.url) as client:
        yield client


@pytest.fixture
async def other(broker: Cluster) -> AsyncIterator[Client]:
    async with willow_client.connect(broker.node.url) as other:
        yield other


@pytest.fixture
async def proxy(broker: Cluster) -> AsyncIterator[Proxy]:
    """A way to the shared broker that can be disturbed."""
    async with proxied(broker.node.port) as proxy:
        yield proxy


@pytest.fixture
def own_cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    """One that the test may do harm to."""
    with start_cluster() as cluster:
        yield cluster


@pytest.fixture
def keepalives(texts_sent: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Keepalives:
    monkeypatch.setattr(claims, "KEEPALIVES_PER_CLAIM", Keepalives.PER_CLAIM)
    return Keepalives(texts_sent)


@pytest.fixture
def texts_sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every text that a client sends from here on."""
    sent: list[bytes] = []
    send = WebSocket.send

    def spy(self: WebSocket, text: bytes) -> None:
        sent.append(text)
        send(self, text)

    monkeypatch.setattr(WebSocket, "send", spy)
    return sent
