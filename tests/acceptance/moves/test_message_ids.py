"""Section 2 of the protocol: sequence and index."""

from tests.support.client import Client


def numbers(frames: list[dict[str, int]], name: str) -> list[int]:
    return sorted(frame[name] for frame in frames)


async def test_indexes_count_the_messages_of_each_queue(client: Client, queue: str) -> None:
    notices = await client.post_all(queue, ["1", "2", "3"])
    assert [notice["index"] for notice in notices] == [1, 2, 3]
    assert (await client.post(queue, "4", tags=["t"]))["index"] == 1
    assert (await client.post(queue, "5"))["index"] == 4


async def test_live_messages_never_share_an_id(client: Client, queue: str) -> None:
    notices = await client.post_all(queue, ["1", "2", "3"])
    claimed = await client.fetch_all(queue, 2)
    await client.finish(claimed[0])
    notices += await client.post_all(queue, ["4", "5", "6"])
    live = [notice for notice in notices if notice["index"] != claimed[0]["index"]]
    assert len(set(numbers(live, "sequence"))) == len(live)


async def test_ids_are_used_again_after_finish_and_pop_and_indexes_are_not(client: Client, queue: str) -> None:
    first = await client.post_all(queue, ["1", "2"])
    await client.finish(await client.fetch(queue))
    await client.pop(queue)
    second = await client.post_all(queue, ["3", "4"])
    assert numbers(second, "sequence") == numbers(first, "sequence")
    assert numbers(second, "index") == [3, 4]


async def test_ids_are_used_again_after_dead_lettering(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    first = await client.post(queue, "1")
    await client.fail(await client.fetch(queue))
    second = await client.post(queue, "2")
    assert (second["sequence"], second["index"]) == (first["sequence"], 2)


async def test_the_ids_of_many_messages_are_all_used_again(client: Client, queue: str) -> None:
    bodies = [str(number) for number in range(700)]  # more than one batch
    first = await client.post_all(queue, bodies)
    for message in await client.fetch_all(queue, len(bodies)):
        await client.begin("finish", **{name: message[name] for name in ("queue", "shard", "sequence")})
    await client.finds_nothing(queue)
    second = await client.post_all(queue, bodies)
    assert numbers(second, "sequence") == numbers(first, "sequence")
    assert numbers(second, "index") == list(range(701, 1401))
