"""A message is with one client at a time, ever: fifty consumers on four processes, some of which fail or leave."""

import asyncio
import random
import time
from collections import defaultdict

import pytest

from tests.support.client import Client, Fields
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect

CONSUMERS = 50
POSTS_PER_FRAME = 500
FAILS, LEAVES = 0.05, 0.02  # how probable it is that a consumer does this with a message


class Consumers:
    """They work until every message is finished, and note when each message was with whom."""

    def __init__(self, cluster: Cluster, connect: Connect, queue: str, messages: int) -> None:
        self.held: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)  # by index: since when, until when
        self.finished: list[int] = []
        self._cluster = cluster
        self._connect = connect
        self._queue = queue
        self._messages = messages

    async def work(self) -> None:
        await asyncio.gather(*(self._consume(number) for number in range(CONSUMERS)))

    async def _consume(self, number: int) -> None:
        node, chance = self._cluster.nodes[number % 4], random.Random(number)
        client = await self._connect(node)
        while len(self.finished) < self._messages:
            answer = await client.next(await client.begin("fetch", self._queue, block_timeout=0.2))
            if answer["type"] == "message" and not await self._handle(client, answer, chance.random()):
                client = await self._connect(node)

    async def _handle(self, client: Client, message: Fields, chance: float) -> bool:
        """Returns whether the client is still there."""
        since = time.monotonic()
        await asyncio.sleep(0)  # others have their turn while this one is busy
        self.held[message["index"]].append((since, time.monotonic()))
        if chance < LEAVES:
            await client.close()
            return False
        if chance < LEAVES + FAILS:
            await client.fail(message)
        else:
            await client.finish(message)
            self.finished.append(message["index"])
        return True

    def overlaps(self) -> list[int]:
        """Messages that were with two clients at once."""
        return [
            index
            for index, times in self.held.items()
            if any(until > since for (_, until), (since, _) in zip(sorted(times), sorted(times)[1:], strict=False))
        ]


@pytest.mark.parametrize("messages", [3000, pytest.param(50_000, marks=pytest.mark.long)])
async def test_a_message_is_with_one_client_at_a_time_and_none_is_lost(
    four_nodes: Cluster, connect: Connect, queue: str, messages: int
) -> None:
    poster = await connect(four_nodes.node)
    await poster.create(queue, retry_limit=1000, retry_delay=0)
    for _ in range(messages // POSTS_PER_FRAME):
        await poster.post_all(queue, ["m"] * POSTS_PER_FRAME)
    consumers = Consumers(four_nodes, connect, queue, messages)
    await consumers.work()
    assert consumers.overlaps() == []
    assert sorted(consumers.finished) == list(range(1, messages + 1))
    assert any(len(times) > 1 for times in consumers.held.values()), "no message ever came back"
    await poster.finds_nothing(queue)
