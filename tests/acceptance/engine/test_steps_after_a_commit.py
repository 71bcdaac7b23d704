"""What goes wrong behind the commit of a definition, an acknowledgement or an assignment is not the client's to notice.

tests/faults/test_after_the_commit.py does the same with posts and reads.
"""

from collections.abc import Iterator

import pytest

from tests.support.broken_node import broken_node
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster
from tests.support.workers import begin_request, working

STEPS_AFTER_A_DEFINITION = [
    "delivery.engine.lookups:_live_nodes",
    "delivery.engine.queues:Directory._learn",
    "delivery.storage.meters:BatchMeter.add",
]
STEPS_AFTER_AN_ACKNOWLEDGEMENT = [
    "delivery.sessions.positions:PositionWrite.done",
    "delivery.storage.meters:BatchMeter.add",
]
STEPS_AFTER_AN_ASSIGNMENT = [
    "delivery.serving.workers:Workers.hand_out",
    "delivery.moves.notices:Notices.tell",
    "delivery.storage.meters:BatchMeter.add",
]


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(nodes=0) as cluster:
        yield cluster


@pytest.mark.parametrize("step", STEPS_AFTER_A_DEFINITION)
async def test_whoever_makes_a_queue_is_told_and_so_are_those_behind_it(
    cluster: Cluster, connect: Connect, queue: str, step: str
) -> None:
    with broken_node(cluster, step) as node:
        one, another = await connect(node), await connect(node)
        create = {"type": "create", "queue": queue, "label": 1}
        await one.send(create, create | {"label": 2}, {"type": "fetch", "queue": queue, "label": 3})
        await another.finds_nothing(queue)
        await one.expect(1, type="queue", created=True)
        await one.expect(2, type="queue", created=False)
        await one.expect(3, type="nomessage")


@pytest.mark.parametrize("step", STEPS_AFTER_AN_ACKNOWLEDGEMENT)
async def test_every_reader_of_a_stream_is_told_that_it_is_acknowledged(
    cluster: Cluster, connect: Connect, queue: str, name: str, step: str
) -> None:
    with broken_node(cluster, step) as node:
        readers = [await connect(node) for _ in range(2)]
        await readers[0].create(queue, kind="stream")
        labels = []
        for number, reader in enumerate(readers):
            await reader.register(f"{name}-{number}")
            labels.append(await reader.subscribe(queue))
        await readers[0].post_all(queue, ["1", "2"])
        for reader, label in zip(readers, labels, strict=True):
            for message in await reader.messages(label, 2):
                await reader.finish(message)
        acked = "SELECT acked_index FROM clients_position p JOIN queues_queue q ON q.id = queue_id WHERE q.name = %s"
        assert cluster.query(acked, queue) == [(2,), (2,)]


@pytest.mark.parametrize("step", STEPS_AFTER_AN_ASSIGNMENT)
async def test_a_request_to_a_service_reaches_its_worker_and_comes_back(
    cluster: Cluster, connect: Connect, service: str, step: str
) -> None:
    with broken_node(cluster, step) as node:
        worker, frontend = await working(await connect(node), service, slots=2), await connect(node)
        for number in range(2):
            label = await begin_request(frontend, service, f"question {number}")
            await worker.reply(await worker.request(), f"answer {number}")
            await frontend.expect(label, type="workreply", body=f"answer {number}")
