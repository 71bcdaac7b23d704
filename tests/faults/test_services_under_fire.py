"""Every request is answered, once, though nodes and workers are killed in the midst of it."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

from willow_client import Request, connect, serve

from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import StartCluster
from tests.support.workers import configure
from willow_site.embedded.valkey import throwaway_valkey

WORKERS = 12
FRONTENDS = 6
REQUESTS = 50  # of each frontend


async def test_every_request_is_answered_while_nodes_die_and_come_back(start_cluster: StartCluster) -> None:
    with throwaway_valkey() as redis_url, start_cluster(nodes=3, reaper=True, REDIS_URL=redis_url) as cluster:
        await _ask_under_fire(cluster)
        answered = cluster.query(
            "SELECT count(*) FROM delivery_journal j JOIN queues_queue q ON q.id = j.queue_id"
            " WHERE q.name = 'service:fire' AND outcome = 'finished'"
        )
        assert answered == [(FRONTENDS * REQUESTS,)]


async def _ask_under_fire(cluster: Cluster) -> None:
    *dying, staying = cluster.nodes
    configure(cluster, "fire", {}, heartbeat_interval=0.5)
    replies: Counter[bytes] = Counter()

    async def answer(request: Request) -> str:
        return f"to {request.text}"

    async def ask(frontend: int) -> None:
        async with connect(staying.url) as client:
            for number in range(REQUESTS):
                replies[await client.request("fire", f"{frontend}.{number}")] += 1

    async with asyncio.timeout(3 * PATIENCE), AsyncExitStack() as workers:
        for number in range(WORKERS):
            await workers.enter_async_context(serve(cluster.nodes[number % 3].url, "fire", answer))
        frontends = [asyncio.ensure_future(ask(number)) for number in range(FRONTENDS)]
        for turn, node in enumerate(dying, 1):
            while replies.total() < turn * FRONTENDS * REQUESTS // 3:
                await asyncio.sleep(0.01)
            node.kill()
            node.start()
        await asyncio.gather(*frontends)
    expected = {f"to {frontend}.{number}".encode() for frontend in range(FRONTENDS) for number in range(REQUESTS)}
    assert replies == Counter(dict.fromkeys(expected, 1))
