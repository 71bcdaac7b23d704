"""Opening connections: what goes wrong is one family of exceptions, at once, with a remedy."""

import asyncio
import signal
import time

import pytest
import willow_client
from willow_client import ConnectionFailed, ConnectionLost, Timeout, Unauthorized, WillowError

from tests.support.cluster import PATIENCE, Cluster
from tests.support.launched_willow import free_port


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (("ws://", "http://"), "Did you mean ws://"),
        (("/connect/", "/connect"), "must end with a slash"),
        (("/connect/", "/elsewhere/"), "Is /elsewhere/ the path"),
        (("ws://", "wss://"), "Use ws:// instead"),
        (("ws://", ""), "An example: ws://"),
        (("127.0.0.1", "nowhere.invalid"), "Are host and port right?"),
    ],
)
async def test_a_wrong_address_is_told_at_once(broker: Cluster, change: tuple[str, str], remedy: str) -> None:
    began = time.monotonic()
    with pytest.raises(ConnectionFailed) as failure:
        await willow_client.connect(broker.node.url.replace(*change)).open()
    assert remedy in str(failure.value)
    assert isinstance(failure.value, WillowError) and isinstance(failure.value, OSError)
    assert time.monotonic() - began < willow_client.opening.OPEN_SECONDS


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
    async with asyncio.timeout(PATIENCE), willow_client.connect(own_cluster.node.url, ping_interval=1) as client:
        own_cluster.node.send(signal.SIGSTOP)
        with pytest.raises(Timeout, match="may have been carried out"):
            await client.post(queue, "m", timeout=0.1)
        own_cluster.node.kill()
        with pytest.raises(Timeout, match="was not sent"):
            await client.post(queue, "m", timeout=0.5)
        own_cluster.node.start()
