"""The line of workers over all nodes: the one that has waited longest gets the next request."""

import asyncio
import random
from collections import deque

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.workers import Worker, begin_request, working

NODES = 3
WORKERS = 12


async def _workers(cluster: Cluster, connect: Connect, service: str, **ready: int) -> list[Worker]:
    """Spread over the nodes, in the order of the line."""
    connections = [await connect(cluster.nodes[number % NODES]) for number in range(WORKERS)]
    return [
        await working(each, service, identity=f"worker-{number}", **ready) for number, each in enumerate(connections)
    ]


async def test_each_request_goes_to_the_worker_that_has_waited_longest(
    three_nodes: Cluster, connect: Connect, service: str
) -> None:
    dice = random.Random(12)
    frontends = [await connect(node) for node in three_nodes.nodes]
    line = deque(await _workers(three_nodes, connect, service))
    for number in range(60):
        frontend = frontends[number % NODES]
        label = await begin_request(frontend, service, str(number))
        worker = line.popleft()
        await worker.reply(await worker.request(body=str(number)), worker.identity)
        await frontend.expect(label, body=worker.identity)
        if line and dice.random() < 0.3:
            await line[-1].ready()  # changes nothing: it is last already
        await worker.ready()
        line.append(worker)
    assert all(worker.client.unread() == [] for worker in line)


async def test_the_order_holds_when_requests_come_from_all_nodes_at_once(
    three_nodes: Cluster, connect: Connect, service: str
) -> None:
    """Requests are given out in the order of their indexes, whichever node gives them out."""
    dice = random.Random(3)
    frontends = [await connect(node) for node in three_nodes.nodes]
    workers = await _workers(three_nodes, connect, service)
    for _ in range(10):
        labels = await _ask_at_once(frontends, service)
        requests = await asyncio.gather(*(worker.request() for worker in workers))
        assert _indexes(three_nodes, workers) == sorted(_indexes(three_nodes, workers))
        await asyncio.gather(
            *(worker.reply(request, "done") for worker, request in zip(workers, requests, strict=True))
        )
        for frontend, label in labels:
            await frontend.expect(label, body="done")
        dice.shuffle(workers)
        for worker in workers:
            await worker.ready()


async def test_a_worker_with_slots_left_goes_to_the_end_of_the_line(
    three_nodes: Cluster, connect: Connect, service: str
) -> None:
    frontend = await connect(three_nodes.node)
    workers = await _workers(three_nodes, connect, service, slots=2)
    for number in range(2 * WORKERS):
        await begin_request(frontend, service, str(number))
        await workers[number % WORKERS].request(body=str(number))
    await begin_request(frontend, service, "waits")
    await workers[5].ready(slots=3)
    await workers[5].request(body="waits")


async def _ask_at_once(frontends: list[Client], service: str) -> list[tuple[Client, int]]:
    asking = [frontends[number % NODES] for number in range(WORKERS)]
    labels = await asyncio.gather(*(begin_request(frontend, service, "question") for frontend in asking))
    return list(zip(asking, labels, strict=True))


def _indexes(cluster: Cluster, workers: list[Worker]) -> list[int]:
    """Of the requests that the workers hold, in the workers' order."""
    rows = cluster.query(
        "SELECT s.token, m.index FROM delivery_message m JOIN clients_session s ON s.id = m.holder WHERE m.state = 2"
    )
    by_session = dict(rows)
    return [by_session[worker.client.id] for worker in workers]
