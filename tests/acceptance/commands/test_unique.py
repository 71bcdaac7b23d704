"""`unique`: one message with a text lives in a queue at a time, on however many nodes it is posted."""

import asyncio

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect

STAGES = ["ready", "write", "sync"]


async def test_a_second_post_hears_of_the_one_that_lives(client: Client, other: Client, queue: str) -> None:
    first = await client.post(queue, "1", unique="u")
    assert "duplicate" not in first
    label = await other.begin("post", queue, message="2", unique="u", notify=[*STAGES, "finish"])
    numbers = {name: first[name] for name in ("shard", "sequence", "index")}
    for stage in STAGES:
        await other.expect(label, notice=stage, duplicate=True, **numbers)
    assert "duplicate" not in await client.post(queue, "3", unique="v")
    assert "duplicate" not in await client.post(queue, "4", tags=["another queue"], unique="u")
    message = await client.fetch(queue)
    assert (await other.post(queue, "5", unique="u"))["duplicate"] is True  # while it is claimed, too
    await client.finish(message)
    assert other.unread(label) == []
    assert "duplicate" not in await other.post(queue, "6", unique="u")


async def end_by_finish(client: Client, queue: str) -> None:
    await client.finish(await client.fetch(queue))


async def end_by_pop(client: Client, queue: str) -> None:
    await client.pop(queue)


async def end_by_failing(client: Client, queue: str) -> None:
    await client.fail(await client.fetch(queue), final=True)


async def end_by_cancel(client: Client, queue: str) -> None:
    posted = await client.post(queue, "again", unique="u")
    label = await client.begin("cancel", queue, shard=posted["shard"], index=posted["index"])
    await client.expect(label, notice="write")


ENDS = [end_by_finish, end_by_pop, end_by_failing, end_by_cancel]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_its_end_frees_the_text(client: Client, queue: str, end: object) -> None:
    await client.post(queue, "m", unique="u")
    await end(client, queue)  # type: ignore[operator]
    assert "duplicate" not in await client.post(queue, "m", unique="u")
    assert (await client.post(queue, "m", unique="u"))["duplicate"] is True


async def test_a_retry_and_a_delay_are_no_end(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=5)
    await client.post(queue, "m", unique="u")
    await client.fail(await client.fetch(queue), delay=1000)
    assert (await client.post(queue, "m", unique="u"))["duplicate"] is True


async def test_a_drop_for_room_frees_the_text(client: Client, queue: str) -> None:
    await client.create(queue, max_length=1, overflow="drop_oldest")
    await client.post(queue, "m", unique="u")
    await client.post(queue, "n")
    assert "duplicate" not in await client.post(queue, "m", unique="u")


async def test_dead_letters_with_one_text_are_several_and_only_one_goes_back(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    for _ in range(2):
        await client.post(queue, "m", unique="u")
        await client.fail(await client.fetch(queue), delay=0)
    assert len(await client.fetch_all(f"{queue}.dead", 2)) == 2


async def test_many_posts_at_the_same_moment(three_nodes: Cluster, connect: Connect, queue: str) -> None:
    clients = [await connect(node) for node in three_nodes.nodes for _ in range(2)]
    await clients[0].create(queue)
    for number in range(5):
        posts = [client.post(queue, f"{position}", unique=f"u{number}") for position, client in enumerate(clients)]
        told = await asyncio.gather(*posts)
        assert sum("duplicate" not in notice for notice in told) == 1
        assert len({notice["index"] for notice in told}) == 1
    assert len(await clients[0].fetch_all(queue, 5)) == 5
    await clients[0].finds_nothing(queue)


async def test_in_one_frame_and_with_dedupe(client: Client, queue: str) -> None:
    post = {"type": "post", "queue": queue, "message": "m", "unique": "u", "notify": ["sync"]}
    await client.send(*({**post, "label": 900 + number, "dedupe": f"d{number}"} for number in range(3)))
    told = [await client.next(900 + number) for number in range(3)]
    assert [notice.get("duplicate") for notice in told] == [None, True, True]
    message = await client.fetch(queue)
    await client.finish(message)
    await client.send({**post, "label": 910, "dedupe": "d1"})  # sent again: its answer may have been lost
    await client.expect(910, notice="sync", duplicate=True, index=message["index"])


async def test_a_message_that_is_replaced_frees_its_text_also_in_one_frame(client: Client, queue: str) -> None:
    await client.create(queue, updatable=True)
    wanted = [("1", "t", "k"), ("2", "t", None), ("3", "u", "k"), ("4", "t", None), ("5", "u", None)]
    post = {"type": "post", "queue": queue, "notify": ["sync"]}
    await client.send(
        *(
            {**post, "label": 900 + number, "message": body, "unique": unique, "key": key}
            for number, (body, unique, key) in enumerate(wanted)
        )
    )
    told = [await client.next(900 + number) for number in range(len(wanted))]
    assert [notice.get("duplicate") for notice in told] == [None, True, None, None, True]
    assert [notice["index"] for notice in told] == [1, 1, 1, 2, 1]
    assert [message["body"] for message in await client.fetch_all(queue, 2)] == ["3", "4"]


async def test_in_bincode(connect: Connect, queue: str) -> None:
    binary = await connect(binary="true", extras="true")
    for number in range(2):
        post = {"type": "post", "queue": [queue], "message": b"m", "label": 900 + number, "unique": "u"}
        await binary.send_binary({**post, "notify": ["sync"]})
    assert "duplicate" not in await binary.expect(900, notice="sync")
    assert (await binary.expect(901, notice="sync"))["duplicate"] is True
