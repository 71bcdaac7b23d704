"""Every kind of post meets every kind of reader, on one node without the slow poll: nothing is forgotten or overtaken.

What is forgotten while somebody waits for it would wait for ever here, as only wake-ups bring it to anybody.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.client import Client, Fields, claim
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster

MESSAGES = 600
POSTERS, READERS = 3, 5
CHANCES = 3  # how many different courses of things are tried
THROUGH_ALL = 4 * PATIENCE  # seconds in which all messages are finished, also on a machine that does other work


@pytest.fixture(scope="module")
def unpolled(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(WILLOW_POLL_SECONDS="3600") as cluster:
        yield cluster


class Posting:
    """A client that posts in every way, with pauses in which readers run out of messages."""

    def __init__(self, client: Client, queue: str, chance: random.Random, *, urgent: bool) -> None:
        self._client = client
        self._queue = queue
        self._chance = chance
        self._urgent = urgent

    async def post(self, messages: int) -> None:
        while messages > 0:
            frame = [self._command() for _ in range(min(messages, self._chance.choice([1, 1, 1, 2, 5, 30])))]
            messages -= len(frame)
            await self._client.send(*frame)
            if self._chance.random() < 0.7:
                await self._client.next(frame[-1]["label"])
            await asyncio.sleep(self._chance.choice([0, 0, 0.002, 0.01]))

    def _command(self) -> Fields:
        command = {"type": "post", "queue": self._queue, "message": "m", "label": self._client.label()}
        command["notify"] = [self._chance.choice(["write", "sync"])]
        way = self._chance.random()
        if way < 0.1:
            command["queue"] = [self._queue, f"{self._queue}.unread"]
        elif way < 0.2:
            command["ttl"] = 600
        elif way < 0.3 and self._urgent:
            command["priority"] = self._chance.randrange(3)
        return command


class Reading:
    """Clients that read in every way, fail, cancel and leave; they note what was finished."""

    def __init__(self, cluster: Cluster, connect: Connect, queue: str, messages: int) -> None:
        self.finished: Counter[int] = Counter()  # by index
        self.with_somebody: set[int] = set()
        self.with_two: list[int] = []
        self._cluster = cluster
        self._connect = connect
        self._queue = queue
        self._messages = messages
        self._all = asyncio.Event()

    async def work(self, seed: int) -> None:
        readers = [asyncio.create_task(self._read(random.Random(f"{seed} {number}"))) for number in range(READERS)]
        ends = asyncio.create_task(self._all.wait())
        await asyncio.wait({ends, *readers}, timeout=THROUGH_ALL, return_when=asyncio.FIRST_COMPLETED)
        for task in (ends, *readers):
            task.cancel()
        for outcome in await asyncio.gather(*readers, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError), outcome

    async def _read(self, chance: random.Random) -> None:
        while True:
            client = await self._connect(self._cluster.node)
            way = chance.choice([self._fetch, self._subscribe, self._pop])
            # What it had no time for goes back with the connection, so a subscription is the last thing on it.
            for _ in range(1 if way == self._subscribe else chance.randrange(1, 10)):
                await way(client, chance)
            await client.send({"type": "fetch", "queue": self._queue, "block_timeout": 30})  # for nobody
            await client.close()

    async def _fetch(self, client: Client, chance: random.Random) -> None:
        count = chance.choice([1, 1, 3])
        how: dict[str, Any] = {"block_timeout": chance.choice([0, 0.01, 30, 30, 30]), "count": count}
        how["sync"] = chance.choice(["write", "write", "sync"])
        label = await client.begin("fetch", self._queue, **how)
        answer = await client.next(label)
        await client.heard_everything()
        for message in (answer, *client.unread(label)):
            if message["type"] == "message":
                await self._handle(client, message, chance)

    async def _subscribe(self, client: Client, chance: random.Random) -> None:
        label = await client.subscribe(self._queue, in_flight=chance.randrange(1, 6))
        for _ in range(chance.randrange(1, 30)):
            await self._handle(client, await client.next(label), chance)
        await client.send({"type": "unsubscribe", "label": label})

    async def _pop(self, client: Client, chance: random.Random) -> None:
        answer = await client.next(await client.begin("pop", self._queue, timeout=chance.choice([0, 0.01, 30])))
        if answer["type"] == "message":
            self._is_over(answer)

    async def _handle(self, client: Client, message: Fields, chance: random.Random) -> None:
        if message["index"] in self.with_somebody:
            self.with_two.append(message["index"])
        self.with_somebody.add(message["index"])
        await asyncio.sleep(chance.choice([0, 0, 0.003]))
        self.with_somebody.remove(message["index"])
        if chance.random() < 0.1:
            await client.begin("fail", **claim(message))
        else:
            await client.finish(message)
            self._is_over(message)

    def _is_over(self, message: Fields) -> None:
        self.finished[message["index"]] += 1
        if len(self.finished) >= self._messages:
            self._all.set()


@pytest.mark.parametrize("seed", range(CHANCES))
async def test_every_message_gets_to_somebody_and_ends_once(
    unpolled: Cluster, connect: Connect, queue: str, seed: int
) -> None:
    posters = [await connect(unpolled.node) for _ in range(POSTERS)]
    await posters[0].create(queue, retry_limit=100_000, retry_delay=0)
    reading = Reading(unpolled, connect, queue, MESSAGES)
    chance = random.Random(seed)
    posting = [Posting(poster, queue, chance, urgent=True).post(MESSAGES // POSTERS) for poster in posters]
    await asyncio.gather(reading.work(seed), *posting)
    left = unpolled.query(
        "SELECT m.index, m.state FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s",
        queue,
    )
    assert (len(reading.finished), left) == (MESSAGES, [])
    assert set(reading.finished.values()) == {1}
    assert reading.with_two == []


@pytest.mark.parametrize("seed", range(CHANCES))
@pytest.mark.parametrize("way", ["fetch", "subscribe"])
async def test_one_reader_gets_them_in_their_order(
    unpolled: Cluster, connect: Connect, queue: str, way: str, seed: int
) -> None:
    reader, *posters = [await connect(unpolled.node) for _ in range(1 + POSTERS)]
    await posters[0].create(queue)
    chance = random.Random(seed)
    posting = [Posting(poster, queue, chance, urgent=False).post(MESSAGES // POSTERS) for poster in posters]
    receiving = _receive_by_fetches(reader, queue) if way == "fetch" else _receive_by_subscription(reader, queue)
    indexes, *_ = await asyncio.gather(receiving, *posting)
    assert indexes == sorted(indexes)


async def _receive_by_fetches(reader: Client, queue: str) -> list[int]:
    """Several wait at a time; each that is served is followed by another one."""
    label, indexes = reader.label(), []
    fetch = {"type": "fetch", "queue": queue, "block_timeout": 30, "label": label}
    await reader.send(*[fetch] * 4)
    while len(indexes) < MESSAGES:
        message = await reader.expect(label, type="message")
        indexes.append(message["index"])
        await reader.send({"type": "finish", **claim(message)}, fetch)
    return indexes


async def _receive_by_subscription(reader: Client, queue: str) -> list[int]:
    label, indexes = await reader.subscribe(queue, in_flight=4), []
    while len(indexes) < MESSAGES:
        message = await reader.expect(label, type="message")
        indexes.append(message["index"])
        await reader.send({"type": "finish", **claim(message)})
    return indexes


async def test_a_poster_hears_that_it_is_stored_before_it_hears_that_somebody_has_it(
    unpolled: Cluster, connect: Connect, queue: str
) -> None:
    reader, *posters = [await connect(unpolled.node) for _ in range(1 + POSTERS)]
    await posters[0].create(queue)
    label = await reader.subscribe(queue, in_flight=64)

    async def finish_all() -> None:
        for _ in range(MESSAGES):
            await reader.send({"type": "finish", **claim(await reader.expect(label, type="message"))})

    async def post(poster: Client) -> list[list[str]]:
        labels = [poster.label() for _ in range(MESSAGES // POSTERS)]
        for each in labels:
            command = {"type": "post", "queue": queue, "message": "m", "notify": ["sync", "assign"], "ttl": 600}
            await poster.send(command | {"label": each})
            await asyncio.sleep(0)
        return [[(await poster.next(each))["notice"] for _ in range(2)] for each in labels]

    _, *told = await asyncio.gather(finish_all(), *map(post, posters))
    assert [notices for of_poster in told for notices in of_poster if notices != ["sync", "assign"]] == []
