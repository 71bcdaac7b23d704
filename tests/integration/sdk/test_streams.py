"""Readers of streams go on where they were, however their program ended."""

import asyncio
from typing import Literal

import pytest
import willow_client
from willow_client import Client, ObjectAlreadyExists, PermissionDenied

from tests.support.client import LOOK_SECONDS
from tests.support.cluster import PATIENCE, Cluster


async def register(reader: Client, name: str) -> None:
    """As soon as the session of the program before has ended, which goes on for a moment after its connection."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await reader.register(name, persistent=True)
                return
            except PermissionDenied:
                await asyncio.sleep(LOOK_SECONDS)


async def read(broker: Cluster, name: str, queue: str, count: int, *, leaves: bool) -> list[str]:
    """A program that registers, reads and acknowledges so many messages, and ends."""
    seen: list[str] = []
    async with willow_client.connect(broker.node.url) as reader:
        await register(reader, name)
        messages = reader.subscribe(queue, start="oldest")
        if leaves:
            async with messages:
                while len(seen) < count:
                    message = await anext(messages)
                    seen.append(message.text)
                    await message.finish()
        else:
            async for message in messages:
                seen.append(message.text)
                await message.finish()
                if len(seen) == count:
                    break
    return seen


async def test_a_reader_that_is_run_again_goes_on(broker: Cluster, client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    for leaves in (False, True, False, True):
        await client.post_many(queue, ["a", "b", "c"])
        assert await read(broker, name, queue, 3, leaves=leaves) == ["a", "b", "c"]


async def test_what_was_not_acknowledged_comes_again(broker: Cluster, client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    await client.post_many(queue, ["a", "b", "c"])
    async with willow_client.connect(broker.node.url) as reader:
        await reader.register(name, persistent=True)
        async with reader.subscribe(queue, start="oldest") as messages:
            assert (await anext(messages)).text == "a"
    assert await read(broker, name, queue, 3, leaves=True) == ["a", "b", "c"]


async def test_a_position_can_be_forgotten(broker: Cluster, client: Client, queue: str, name: str) -> None:
    await client.create(queue, kind="stream")
    await client.post_many(queue, ["a", "b"])
    async with willow_client.connect(broker.node.url) as reader:
        await reader.register(name, persistent=True)
        messages = reader.subscribe(queue, start="oldest")
        await (await anext(messages)).finish()
        await messages.close(forget=True)
    assert await read(broker, name, queue, 2, leaves=True) == ["a", "b"]


@pytest.mark.parametrize("kind", ["stream", "work"])
async def test_a_second_subscription_does_not_starve_the_first(
    client: Client, other: Client, queue: str, name: str, kind: Literal["stream", "work"]
) -> None:
    await client.create(queue, kind=kind, tags=["a", "b"])
    await client.register(name, persistent=True)
    async with client.subscribe(queue, tags=["a", "b"]) as messages:
        with pytest.raises(ObjectAlreadyExists, match=r"reads .* already"):
            await anext(client.subscribe(queue, tags=["b", "a"], match="exact"))
        await other.post(queue, "m", tags=["a", "b"])
        await (await anext(messages)).finish()
    await other.post(queue, "n", tags=["a", "b"])
    async for message in client.subscribe(queue, tags=["a", "b"]):
        assert message.text == "n"
        await message.finish()
        break
    async with client.subscribe(queue, tags=["a", "b"]) as messages:  # the loop was left a moment ago
        await other.post(queue, "o", tags=["a", "b"])
        assert (await anext(messages)).text == "o"
