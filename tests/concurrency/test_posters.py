"""Many clients on four processes that post to the same queues at the same moment."""

import asyncio
from collections import defaultdict

from tests.support.client import Client

POSTS = 25  # of each client


async def test_indexes_have_no_gaps_and_grow_for_every_poster(posters: list[Client], queue: str) -> None:
    """Some post to both queues at once, in either order: no two of them may wait for each other for ever."""
    both = [f"{queue}-a", f"{queue}-b"]
    targets = [both[0], both, both[1], both[::-1]]

    async def post(poster: Client, number: int) -> list[tuple[str, int, int]]:
        numbers = []
        for turn in range(POSTS):
            names = targets[(number + turn) % len(targets)]
            label = await poster.begin("post", names, message="m", notify=["sync"])
            for _ in range(1 if isinstance(names, str) else len(names)):
                notice = await poster.expect(label, notice="sync")
                numbers.append((notice.get("queue", names), notice["index"], notice["sequence"]))
        return numbers

    posted = await asyncio.gather(*(post(poster, number) for number, poster in enumerate(posters)))
    for name in both:
        of_each = [[index for queue_name, index, _ in numbers if queue_name == name] for numbers in posted]
        assert all(indexes == sorted(indexes) for indexes in of_each)
        everyones = sorted(index for indexes in of_each for index in indexes)
        assert everyones == list(range(1, len(everyones) + 1))
        sequences = [sequence for numbers in posted for queue_name, _, sequence in numbers if queue_name == name]
        assert len(set(sequences)) == len(sequences)


async def test_one_dedupe_text_is_one_message(posters: list[Client], queue: str) -> None:
    notices = await asyncio.gather(
        *(poster.post(queue, f"from {number}", dedupe="d") for number, poster in enumerate(posters))
    )
    assert {(notice["sequence"], notice["index"]) for notice in notices} == {(1, 1)}
    await posters[0].fetch(queue)
    await posters[0].finds_nothing(queue)


async def test_one_key_is_one_message(posters: list[Client], queue: str) -> None:
    await posters[0].create(queue, updatable=True)
    notices = await asyncio.gather(*(poster.post(queue, "m", key="k") for poster in posters))
    assert {(notice["sequence"], notice["index"]) for notice in notices} == {(1, 1)}
    await posters[0].fetch(queue)
    await posters[0].finds_nothing(queue)


async def test_a_queue_takes_as_many_as_it_has_room_for(posters: list[Client], queue: str) -> None:
    await posters[0].create(queue, max_length=7)
    labels = [await poster.begin("post", queue, message="m", notify=["sync"]) for poster in posters]
    answers = [await poster.next(label) for poster, label in zip(posters, labels, strict=True)]
    by_kind = defaultdict(list)
    for answer in answers:
        by_kind[answer.get("code") or answer["notice"]].append(answer)
    assert (len(by_kind["sync"]), len(by_kind["Overloaded"])) == (7, len(posters) - 7)
    await posters[0].fetch_all(queue, 7)
    await posters[0].finds_nothing(queue)
