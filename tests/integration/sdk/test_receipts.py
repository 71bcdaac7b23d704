"""What becomes of a posted message: all stages can be awaited, and a message that waits can be taken back."""

import asyncio

import pytest
from willow_client import BadArgument, Client, Dropped, NoObject, ObjectAlreadyExists, Timeout

from tests.support.cluster import PATIENCE


async def finish_next(client: Client, queue: str, reply: str | None = None) -> None:
    message = await client.fetch(queue, block_timeout=PATIENCE)
    assert message is not None
    await message.finish(reply)


async def test_a_post_can_wait_for_its_reply(client: Client, other: Client, queue: str) -> None:
    reply = asyncio.ensure_future(client.post(queue, "m", wait="finish"))
    await finish_next(other, queue, "done")
    assert await reply == b"done"


async def test_a_post_that_waits_for_a_reply_is_told_of_the_end(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    reply = asyncio.ensure_future(client.post(queue, "m", wait="finish"))
    message = await other.fetch(queue, block_timeout=PATIENCE)
    assert message is not None
    await message.fail("no luck")
    with pytest.raises(Dropped):
        await reply


async def test_all_stages_can_be_awaited(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    stages = ("ready", "write", "sync", "assign", "finish", "retry", "drop")
    receipt = await client.post(queue, "m", notify=stages)
    await receipt.ready()
    await receipt.written()
    await receipt.synced()
    message = await other.fetch(queue)
    assert message is not None
    await receipt.assigned()
    await message.fail("once more")
    await receipt.retried()
    await finish_next(other, queue, "reply")
    assert await receipt.finished(timeout=PATIENCE) == b"reply"
    seen = [stage async for stage in receipt.notices()]
    assert seen == ["ready", "write", "sync", "assign", "retry", "assign", "finish"]


async def test_a_dropped_message_is_told(client: Client, other: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    receipt = await client.post(queue, "m", notify=["drop"])
    message = await other.fetch(queue)
    assert message is not None
    await message.fail("no luck")
    await receipt.dropped(timeout=PATIENCE)
    with pytest.raises(Dropped):
        await receipt.finished()


async def test_a_stage_that_does_not_come_in_time(client: Client, queue: str) -> None:
    receipt = await client.post(queue, "m", notify=["assign"])
    with pytest.raises(Timeout, match="assign"):
        await receipt.assigned(timeout=0.05)


async def test_a_stage_that_was_not_asked_for(client: Client, queue: str) -> None:
    with pytest.raises(BadArgument, match="asked for no notices"):
        await (await client.post(queue, "m")).assigned()
    with pytest.raises(BadArgument, match="did not ask for it"):
        await (await client.post(queue, "m", notify=["assign"])).retried()


async def test_a_waiting_message_can_be_taken_back(client: Client, other: Client, queue: str) -> None:
    receipt = await client.post(queue, "m")
    assert await client.cancel(receipt)
    assert not await client.cancel(receipt)
    assert await other.fetch(queue) is None


async def test_a_message_at_work_cannot_be_taken_back(client: Client, other: Client, queue: str) -> None:
    receipt = await client.post(queue, "m")
    message = await other.fetch(queue)
    assert message is not None
    assert not await client.cancel(receipt)
    await message.finish()


async def test_stages_can_be_awaited_after_the_time_of_the_post(client: Client, other: Client, queue: str) -> None:
    receipt = await client.post(queue, "m", notify=["finish"])
    assert receipt._following is not None
    client._connection._timed_out(receipt._following.label)  # as its timer does
    await finish_next(other, queue, "done")
    assert await receipt.finished(timeout=PATIENCE) == b"done"


async def test_a_reply_that_does_not_come_in_time(client: Client, queue: str) -> None:
    with pytest.raises(Timeout, match=f"the notice `finish` of the message in {queue} did not come"):
        await client.post(queue, "m", wait="finish", timeout=0.1)


async def test_who_waits_for_a_message_that_is_taken_back_is_told(client: Client, queue: str) -> None:
    receipt = await client.post(queue, "m", notify=["finish"])
    finished = asyncio.ensure_future(receipt.finished())
    assert await client.cancel(receipt)
    with pytest.raises(NoObject, match="taken back"):
        await finished


async def test_a_post_that_is_known_already_does_not_wait_for_its_end(client: Client, queue: str) -> None:
    first = await client.post(queue, "m", dedupe="once")
    with pytest.raises(ObjectAlreadyExists, match="posted before"):
        await client.post(queue, "m", dedupe="once", wait="finish")
    again = await client.post(queue, "m", dedupe="once", notify=["finish"])
    assert again == first and again.duplicate
    with pytest.raises(ObjectAlreadyExists, match="posted before"):
        await again.finished()
