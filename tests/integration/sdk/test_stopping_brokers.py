"""A broker that stops says so: its clients go on at the next one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import willow_client
from websockets.asyncio.server import ServerConnection, serve
from willow_client import Unavailable

from tests.support.cluster import PATIENCE, Cluster

NODE_STOPS = 4503
HELLO = '{"type": "hello", "id": "made-up", "node": "stopping", "version": "1"}'
STOPPING = (
    '{"type": "error", "label": null, "code": "Unavailable", "key": "stopping", "message": "This node is stopping."}'
)


@asynccontextmanager
async def stopping_node(first_frame: str) -> AsyncIterator[str]:
    async def say(connection: ServerConnection) -> None:
        await connection.send(first_frame)
        await connection.close(NODE_STOPS)

    async with serve(say, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/connect/"


async def test_the_next_url_is_tried_at_once(broker: Cluster, queue: str) -> None:
    async with asyncio.timeout(PATIENCE), stopping_node(STOPPING) as url:
        async with willow_client.connect([url, broker.node.url]) as client:
            await client.post(queue, "m")
        with pytest.raises(Unavailable, match="This node is stopping"):
            await willow_client.connect(url).open()


async def test_a_client_whose_broker_stops_goes_on_at_the_next(broker: Cluster, queue: str) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        stopping_node(HELLO) as url,
        willow_client.connect([url, broker.node.url]) as client,
    ):
        assert (await client.post(queue, "m")).index == 1
        assert broker.node.url.split("/")[2] in repr(client)
