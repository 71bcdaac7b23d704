"""What a poster hears of its message, and when."""

import pytest

from tests.support.client import Client

STAGES = ["ready", "write", "sync", "assign", "finish", "retry", "drop"]


async def test_each_stage_is_told_when_it_happens(client: Client, other: Client, queue: str) -> None:
    label = await client.begin("post", queue, message="m", notify=STAGES)
    ready = await client.expect(label, notice="ready")
    assert ready.keys() == {"type", "label", "notice"}
    write = await client.expect(label, notice="write")
    sync = await client.expect(label, notice="sync")
    numbers = {"shard": write["shard"], "sequence": 1, "index": 1}
    assert write == {"type": "notice", "label": label, "notice": "write", **numbers}
    assert sync == {"type": "notice", "label": label, "notice": "sync", **numbers}

    assert client.unread(label) == []
    message = await other.fetch(queue)
    await client.expect(label, notice="assign", **numbers)
    await other.fail(message)
    await client.expect(label, notice="retry", **numbers)
    message = await other.fetch(queue, block_timeout=60)
    await client.expect(label, notice="assign", **numbers)
    await other.finish(message)
    await client.expect(label, notice="finish", **numbers)


async def test_a_drop_is_told_instead_of_a_retry_when_the_last_attempt_failed(
    client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, retry_limit=1)
    label = await client.begin("post", queue, message="m", notify=["assign", "retry", "drop"])
    await other.fail(await other.fetch(queue, block_timeout=60))
    await client.expect(label, notice="assign")
    await client.expect(label, notice="drop", sequence=1, index=1)


@pytest.mark.parametrize("stage", [*STAGES, None])
async def test_only_the_stages_that_were_asked_for_are_told(
    client: Client, other: Client, queue: str, stage: str | None
) -> None:
    """One message is finished at its second attempt, and one is dropped after its second."""
    await client.create(queue, retry_limit=2, retry_delay=0)
    notify = [stage] if stage else []
    finished = await client.begin("post", queue, message="finished", notify=notify)
    message = await other.fetch(queue, block_timeout=60)
    await other.fail(message)
    await other.finish(await other.fetch(queue, block_timeout=60))
    dropped = await client.begin("post", queue, message="dropped", notify=notify)
    for _ in range(2):
        await other.fail(await other.fetch(queue, block_timeout=60))
    await client.heard_everything()
    told = [[notice["notice"] for notice in client.unread(label)] for label in (finished, dropped)]
    happens = {
        "assign": [["assign"] * 2, ["assign"] * 2],
        "finish": [["finish"], []],
        "retry": [["retry"], ["retry"]],
        "drop": [[], ["drop"]],
        None: [[], []],
    }
    assert told == happens.get(stage, [[stage], [stage]])


async def test_a_stage_that_is_listed_twice_is_told_once(client: Client, queue: str) -> None:
    label = await client.begin("post", queue, message="m", notify=["sync", "sync"])
    await client.expect(label, notice="sync")
    await client.heard_everything()
    assert client.unread(label) == []


async def test_a_popped_message_is_finished_and_never_assigned(client: Client, other: Client, queue: str) -> None:
    label = await client.begin("post", queue, message="m", notify=STAGES)
    for stage in ("ready", "write", "sync"):
        await client.expect(label, notice=stage)
    await other.pop(queue)
    await client.expect(label, notice="finish", sequence=1, index=1)
    await client.heard_everything()
    assert client.unread(label) == []


@pytest.mark.parametrize("reply", ["done", "", [255, 254]])
async def test_a_reply_reaches_the_poster_in_its_finish_notice(
    client: Client, other: Client, queue: str, reply: str | list[int]
) -> None:
    label = await client.begin("post", queue, message="m", notify=["finish"])
    await other.finish(await other.fetch(queue, block_timeout=60), reply=reply)
    await client.expect(label, notice="finish", reply=reply)


async def test_a_finish_without_reply_brings_none(client: Client, other: Client, queue: str) -> None:
    label = await client.begin("post", queue, message="m", notify=["finish"])
    await other.finish(await other.fetch(queue, block_timeout=60))
    assert "reply" not in await client.expect(label, notice="finish")
