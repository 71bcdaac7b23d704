"""Many clients that create the same queue at the same moment, on several nodes."""

import asyncio
from itertools import cycle, permutations

from tests.support.cluster import Cluster
from tests.support.fixtures import Connect

CREATORS = 50
TAGS = ["a", "b", "c", "d"]


async def test_fifty_creators_make_one_queue(four_nodes: Cluster, connect: Connect, queue: str) -> None:
    creators = [await connect(four_nodes.nodes[number % 3]) for number in range(CREATORS)]
    orders = cycle(permutations(TAGS))
    created = await asyncio.gather(*(creator.create(queue, tags=next(orders)) for creator in creators))
    assert sorted(each["created"] for each in created) == [False] * (CREATORS - 1) + [True]
    assert {(each["shard"], *each["tags"]) for each in created} == {(created[0]["shard"], *TAGS)}


async def test_fifty_first_posters_fill_one_queue(four_nodes: Cluster, connect: Connect, queue: str) -> None:
    posters = [await connect(four_nodes.nodes[number % 3]) for number in range(CREATORS)]
    notices = await asyncio.gather(*(poster.post(queue, "m", tags=TAGS) for poster in posters))
    assert len({notice["shard"] for notice in notices}) == 1
    assert sorted(notice["index"] for notice in notices) == list(range(1, CREATORS + 1))
