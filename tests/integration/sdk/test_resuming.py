"""What the broker says as soon as a client is back."""

import asyncio

import pytest
import willow_client
from willow_client import Client, link
from willow_client.connection import Connection
from willow_client.frames import Delivery, Hello

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, Cluster
from tests.support.proxy import Proxy


async def test_a_message_that_comes_with_the_hello_is_not_left_lying(
    broker: Cluster, proxy: Proxy, client: Client, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was lost with the last socket and is sent again, before the client has begun to use the new one."""
    shard = (await client.create(queue)).shard
    greeting, take_stray = link._greeting, Connection._take_stray
    came_again = asyncio.Event()

    def notice(self: Connection, delivery: Delivery) -> None:
        take_stray(self, delivery)
        came_again.set()

    async def late(*how: object) -> Hello:
        hello = await greeting(*how)  # type: ignore[arg-type]
        await came_again.wait()
        return hello

    async with willow_client.connect(proxy.url, hold=PATIENCE) as reader, reader.subscribe(queue) as messages:
        monkeypatch.setattr(Connection, "_take_stray", notice)
        monkeypatch.setattr(link, "_greeting", late)
        proxy.stall_answers()
        await client.post(queue, "m")
        while not broker.query("SELECT 1 FROM delivery_message WHERE queue_id = %s AND holder IS NOT NULL", shard):
            await asyncio.sleep(LOOK_SECONDS)
        proxy.reset()
        proxy.flow()
        async with asyncio.timeout(PATIENCE):
            message = await anext(messages)
        assert (message.text, message.attempt) == ("m", 1)
        await message.finish()
