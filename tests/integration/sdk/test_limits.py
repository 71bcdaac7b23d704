"""Every call is bounded by the client's own clock, also when the broker says nothing at all."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import willow_client
from willow_client import BadArgument, Client, Timeout, Unavailable

from tests.support.cluster import PATIENCE, Cluster
from tests.support.proxy import Proxy

SECONDS = 0.2
CALLS: dict[str, Callable[[Client, str], Awaitable[Any]]] = {
    "post": lambda client, queue: client.post(queue, "m", timeout=SECONDS),
    "post_to_all": lambda client, queue: client.post_to_all([queue], "m", timeout=SECONDS),
    "fetch": lambda client, queue: client.fetch(queue, timeout=SECONDS),
    "pop_many": lambda client, queue: client.pop_many(queue, 5, timeout=SECONDS),
    "create": lambda client, queue: client.create(queue, timeout=SECONDS),
    "register": lambda client, queue: client.register(queue, persistent=False, timeout=SECONDS),
    "request": lambda client, queue: client.request(queue, "q", timeout=SECONDS),
    "subscribe": lambda client, queue: anext(client.subscribe(queue, timeout=SECONDS)),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_silent_broker_costs_no_more_than_the_timeout(proxy: Proxy, queue: str, name: str) -> None:
    async with willow_client.connect(proxy.url, timeout=None) as client:
        proxy.stall()
        began = client_time()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Timeout, match="Broker: ws://") as refusal:
                await CALLS[name](client, queue)
        assert client_time() - began >= SECONDS
        assert isinstance(refusal.value, Unavailable) and refusal.value.key == "timeout"
        await client.close(timeout=SECONDS)


def client_time() -> float:
    return asyncio.get_running_loop().time()


async def test_opening_is_bounded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"ws://127.0.0.1:{mute.getsockname()[1]}/connect/"
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(Timeout, match=url):
                await willow_client.connect(url).open(timeout=SECONDS)
            with pytest.raises(Timeout):
                await willow_client.connect([url, url], timeout=SECONDS).open()


async def test_a_post_that_waits_for_nothing_waits_no_longer_than_its_timeout(proxy: Proxy, queue: str) -> None:
    async with willow_client.connect(proxy.url) as client:
        proxy.stall()
        with pytest.raises(Timeout, match="was not sent"):
            async with asyncio.timeout(PATIENCE):
                while True:
                    await client.post(queue, bytes(1_000_000), wait=None, timeout=SECONDS)
        await client.close(timeout=SECONDS)


async def test_what_waited_for_nothing_leaves_before_the_client_closes(
    broker: Cluster, other: Client, queue: str
) -> None:
    """More than the sockets of both sides hold."""
    body, count = bytes(1_000_000), 20
    async with willow_client.connect(broker.node.url) as client:
        for _ in range(count):
            await client.post(queue, body, wait=None)
    sizes = []
    async with asyncio.timeout(PATIENCE):
        while len(sizes) < count:
            message = await other.pop(queue, block_timeout=PATIENCE)
            assert message is not None
            sizes.append(len(message.body))
    assert sizes == [len(body)] * count


@pytest.mark.parametrize("seconds", [0, -1, "soon", float("nan"), True])
async def test_a_limit_is_a_number_of_seconds(client: Client, queue: str, seconds: Any) -> None:
    with pytest.raises(BadArgument, match="`timeout` must be a number of seconds"):
        await client.post(queue, "m", timeout=seconds)
    with pytest.raises(BadArgument):
        client.subscribe(queue, timeout=seconds)
    receipt = await client.post(queue, "m", notify="finish")
    with pytest.raises(BadArgument):
        await receipt.finished(timeout=seconds)


async def test_a_subscription_that_came_too_late_brings_nothing(
    proxy: Proxy, client: Client, other: Client, queue: str
) -> None:
    """The broker begins it after its reader has gone: it is ended, and keeps nothing."""
    async with willow_client.connect(proxy.url) as reader:
        proxy.stall_answers()
        with pytest.raises(Timeout):
            await anext(reader.subscribe(queue, timeout=SECONDS))
        proxy.flow()
        await reader.create(queue)
        await client.post(queue, "m")
        message = await other.fetch(queue, block_timeout=PATIENCE)
        assert message is not None and message.attempt == 1
