"""Replies that queues keep: asked for later, also by a program that did not post the message itself."""

import asyncio

import pytest
import willow_client
from willow_client import BadArgument, Client, Dropped, NoObject, PermissionDenied, Timeout, sync

from tests.support.cluster import PATIENCE, Cluster
from tests.support.keys import make_key


async def finish_next(client: Client, queue: str, reply: str | bytes | None) -> None:
    message = await client.fetch(queue, block_timeout=PATIENCE)
    assert message is not None
    await message.finish(reply)


@pytest.mark.parametrize("reply", ["done", b"\xff\x00", None])
async def test_the_reply_is_asked_for_after_the_poster_was_restarted(
    broker: Cluster, client: Client, queue: str, reply: str | bytes | None
) -> None:
    await client.create(queue, keep_replies=3600)
    key = make_key(broker, {queue: {"post"}})
    async with willow_client.connect(broker.node.url, token=key.secret) as before:
        receipt = await before.post(queue, "m")
    async with willow_client.connect(f"{broker.node.url}?token={key.secret}") as after:
        waiting = asyncio.ensure_future(after.result((receipt.shard, receipt.index)))
        await finish_next(client, queue, reply)
        assert await waiting == (reply.encode() if isinstance(reply, str) else reply)
        assert await after.result(receipt) == await waiting


async def test_whoever_did_not_post_it_does_not_get_it(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, keep_replies=3600)
    receipt = await client.post(queue, "m")
    key = make_key(broker, {queue: {"post"}})
    async with willow_client.connect(broker.node.url, token=key.secret) as stranger:
        with pytest.raises(PermissionDenied):
            await stranger.result(receipt)


async def test_no_result_is_an_error_that_says_why(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, keep_replies=3600, retry_limit=1)
    given_up = await client.post(queue, "m")
    message = await client.fetch(queue)
    assert message is not None
    await message.fail("no luck")
    with pytest.raises(Dropped, match="no luck"):
        await client.result(given_up)
    with pytest.raises(Timeout, match="has not ended"):
        await client.result(await client.post(queue, "m"), timeout=0.1)
    with pytest.raises(NoObject):
        await client.result((given_up.shard, 999))
    with pytest.raises(BadArgument, match="shard and index"):
        await client.result("1/2")  # type: ignore[arg-type]
    await client.create(f"{queue}-2")
    forgotten = await client.post(f"{queue}-2", "m")
    await finish_next(client, f"{queue}-2", "done")
    with pytest.raises(NoObject, match="keep_replies"):
        await client.result(forgotten)


def test_results_of_the_blocking_client(broker: Cluster, queue: str) -> None:
    with sync.connect(broker.node.url) as willow:
        willow.create(queue, keep_replies=3600)
        receipt = willow.post(queue, "m")
        message = willow.fetch(queue, block_timeout=PATIENCE)
        assert message is not None
        message.finish("done")
        assert willow.result(receipt) == willow.result((receipt.shard, receipt.index)) == b"done"
