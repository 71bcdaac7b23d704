"""Redis only makes several nodes faster: delivery goes on without it, and is woken by it again when it is back."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psutil
import pytest

from tests.support.client import LOOK_SECONDS, Client
from tests.support.cluster import PATIENCE
from tests.support.fixtures import Connect, StartCluster
from tests.support.launched_willow import kill
from willow_site.embedded.valkey import ValkeyServer


class Redis:
    """A server that can be killed and comes back at the same address."""

    def __init__(self, folder: Path) -> None:
        self._server = ValkeyServer(folder, ends_with_starter=True)
        self.url = self._server.start()

    def kill(self) -> None:
        process = self._server.running_process()
        assert process is not None
        kill(psutil.Process(process.pid))

    def start(self) -> None:
        assert self._server.start() == self.url

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def redis() -> Iterator[Redis]:
    folder = Path(tempfile.mkdtemp(prefix="willow-test-"))
    redis = Redis(folder)
    yield redis
    redis.stop()
    shutil.rmtree(folder)


class Load:
    """A poster on one node, readers on the others, without a pause."""

    def __init__(self, queue: str) -> None:
        self.posted = 0
        self.received: set[str] = set()
        self._queue = queue

    async def post(self, client: Client) -> None:
        for number in count():
            await client.post(self._queue, str(number))
            self.posted = number + 1

    async def read(self, client: Client) -> None:
        label = await client.subscribe(self._queue)
        while True:
            message = await client.expect(label, type="message")
            await client.finish(message)
            self.received.add(message["body"])

    async def goes_on(self) -> None:
        """Wait until everything was received that was posted up to now, and a good deal more."""
        awaited = self.posted + 50
        async with asyncio.timeout(PATIENCE):
            while not self.received.issuperset(map(str, range(awaited))):
                await asyncio.sleep(LOOK_SECONDS)


async def test_delivery_goes_on_while_redis_is_gone_and_nothing_is_lost(
    start_cluster: StartCluster, connect: Connect, redis: Redis, queue: str
) -> None:
    with start_cluster(nodes=3, REDIS_URL=redis.url) as cluster:
        poster, *readers = [await connect(node) for node in cluster.nodes]
        load = Load(queue)
        tasks = [asyncio.create_task(load.read(reader)) for reader in readers]
        tasks.append(asyncio.create_task(load.post(poster)))
        await load.goes_on()
        redis.kill()
        await load.goes_on()
        redis.start()
        await load.goes_on()
        for task in tasks:
            assert not task.done()
            task.cancel()
        for client in (poster, *readers):
            await client.close()


async def test_nodes_wake_each_other_again_when_redis_is_back(
    start_cluster: StartCluster, connect: Connect, redis: Redis, queue: str
) -> None:
    unpolled = {"WILLOW_POLL_SECONDS": "3600", "WILLOW_NODE_LAPSE": "3600"}
    with start_cluster(nodes=2, REDIS_URL=redis.url, **unpolled) as cluster:
        here, there = [await connect(node) for node in cluster.nodes]
        label = await there.subscribe(queue)
        await here.post(queue, "before")
        await there.expect(label, body="before")
        redis.kill()
        await here.post(queue, "meanwhile")
        redis.start()
        async with asyncio.timeout(PATIENCE):
            while not there.unread(label):
                await here.post(queue, "again")
                await asyncio.sleep(LOOK_SECONDS)
        await there.expect(label, body="meanwhile")
        for client in (here, there):
            await client.close()


async def test_a_node_can_be_started_while_redis_is_gone(
    start_cluster: StartCluster, connect: Connect, redis: Redis, queue: str
) -> None:
    redis.kill()
    with start_cluster(nodes=2, REDIS_URL=redis.url) as cluster:
        here, there = [await connect(node) for node in cluster.nodes]
        label = await there.subscribe(queue)
        await here.post(queue, "m")
        await there.expect(label, body="m")
        for client in (here, there):
            await client.close()
