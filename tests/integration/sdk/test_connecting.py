"""Opening connections: what goes wrong is one family of exceptions, at once, with a remedy."""

import asyncio
import signal
import socket

import pytest
import willow_client
from willow_client import ConnectionFailed, ConnectionLost, Timeout, Unauthorized, WillowError

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import Cluster
from tests.support.launched_willow import free_port


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (("ws://", "http://"), "Did you mean ws://"),
        (("/connect/", "/connect"), "must end with a slash"),
        (("/connect/", "/elsewhere/"), "Is /elsewhere/ the path"),
        (("ws://", "wss://"), "Use ws:// instead"),
        (("ws://", ""), "An example: ws://"),
    ],
)
async def test_a_wrong_address_is_told(broker: Cluster, change: tuple[str, str], remedy: str) -> None:
    with pytest.raises(ConnectionFailed) as failure:
        await willow_client.connect(broker.node.url.replace(*change)).open()
    assert remedy in str(failure.value)
    assert isinstance(failure.value, WillowError) and isinstance(failure.value, OSError)


async def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectionFailed, match="Are host and port right"):
        await willow_client.connect("ws://nowhere.invalid:8080/connect/").open()


async def test_a_port_where_nobody_listens() -> None:
    with pytest.raises(ConnectionFailed, match="Is the broker up"):
        await willow_client.connect(f"ws://127.0.0.1:{free_port()}/connect/").open()


async def test_a_wrong_key(broker: Cluster) -> None:
    with pytest.raises(Unauthorized, match="does not accept this key") as refusal:
        await willow_client.connect(f"{broker.node.url}?token=secret").open()
    assert refusal.value.code == "PermissionDenied" and "secret" not in str(refusal.value)


async def test_open_and_close_without_async_with(broker: Cluster, queue: str) -> None:
    client = willow_client.connect(broker.node.url)
    with pytest.raises(ConnectionLost, match="not open"):
        await client.post(queue, "m")
    await client.open()
    await client.post(queue, "m")
    await client.close()
    with pytest.raises(ConnectionLost, match="closed"):
        await client.post(queue, "m")


async def test_any_of_several_urls(broker: Cluster, queue: str) -> None:
    dead = f"ws://127.0.0.1:{free_port()}/connect/"
    async with willow_client.connect([dead, broker.node.url]) as client:
        await client.post(queue, "m")


async def test_a_stopped_broker_costs_no_more_than_the_timeout(own_cluster: Cluster, queue: str) -> None:
    async with willow_client.connect(own_cluster.node.url) as client:
        own_cluster.node.send(signal.SIGSTOP)
        with pytest.raises(Timeout, match="may have been carried out"):
            await client.post(queue, "m", timeout=0.1)
        own_cluster.node.kill()
        while "reconnecting" not in repr(client):
            await asyncio.sleep(LOOK_SECONDS)
        with pytest.raises(Timeout, match="was not sent"):
            await client.post(queue, "m", timeout=0.1)
