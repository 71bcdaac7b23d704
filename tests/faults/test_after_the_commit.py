"""Whatever goes wrong between a commit and its answers: what is stored is answered as stored, to everybody."""

from collections.abc import Iterator

import pytest

from tests.support.broken_node import broken_node
from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster

STEPS_AFTER_A_POST = [
    "delivery.wakeups.delays:Delays.expect",
    "delivery.engine.backlog:Backlog.newest_is",
    "delivery.engine.backlog:Backlog.stored",
    "delivery.engine.backlog:Backlog.something_came",
    "delivery.engine.claims:Floors.lower_to",
    "delivery.engine.waiters:Waiters.wake",
    "delivery.engine.handover:Handover.hand_out",
    "delivery.moves.notices:Notices.tell_each",
    "delivery.storage.meters:BatchMeter.add",
    "delivery.wakeups.hints:Hints.messages_ready",
]
STEPS_AFTER_A_READ = [
    "delivery.engine.backlog:Backlog.taken",
    "delivery.engine.backlog:Backlog.ran_dry",
    "delivery.engine.claims:Floors.raise_to",
    "delivery.moves.notices:Notices.tell",
    "delivery.storage.meters:BatchMeter.add",
    "delivery.storage.lanes:Lane.tell",
]


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster(nodes=0) as cluster:
        yield cluster


async def posts_of_every_kind(client: Client, queue: str) -> list[int]:
    """In one frame, so that they come in one batch: plain, delayed by next to nothing, and with a look at the queue."""
    kinds = [{}, {"delay": 0.0001}, {"delay": 0.0001}, {"queue": f"{queue}-bounded"}, {"dedupe": "d"}, {"delay": 60}]
    labels = [client.label() for _ in kinds]
    common = {"type": "post", "queue": queue, "message": "m", "notify": ["sync", "finish", "assign"]}
    await client.send(*(common | {"label": label} | kind for label, kind in zip(labels, kinds, strict=True)))
    return labels


@pytest.mark.parametrize("step", STEPS_AFTER_A_POST)
async def test_every_poster_is_told_that_it_is_stored(
    cluster: Cluster, connect: Connect, queue: str, step: str
) -> None:
    with broken_node(cluster, step) as node:
        one, another = await connect(node), await connect(node)
        await one.create(f"{queue}-bounded", max_length=1, overflow="drop_oldest")
        waiting = await another.begin("fetch", f"{queue}-waited-for", block_timeout=PATIENCE)
        await one.post(f"{queue}-waited-for", "m")  # alone in its batch, and plain
        for _ in range(2):
            for client in (one, another):
                for label in await posts_of_every_kind(client, queue):
                    await client.expect(label, notice="sync")
        assert (await another.next(waiting))["type"] == "message"
        stored = "SELECT count(*) FROM delivery_message m JOIN queues_queue q ON q.id = m.queue_id WHERE q.name = %s"
        assert cluster.query(stored, queue) == [(4 * 4 + 1,)]  # a repeated dedupe is stored once


@pytest.mark.parametrize("step", STEPS_AFTER_A_READ)
async def test_every_reader_gets_what_was_claimed_for_it(
    cluster: Cluster, connect: Connect, queue: str, step: str
) -> None:
    with broken_node(cluster, step) as node:
        one, another = await connect(node), await connect(node)
        await one.post_all(queue, ["1", "2", "3", "4"], notify=["sync", "assign", "finish"])
        for client in (one, another):
            await client.finish(await client.fetch(queue))
            label = await client.begin("pop", queue)
            assert (await client.next(label))["type"] == "message"
            await client.finds_nothing(f"{queue}-empty")
        outcomes = "SELECT outcome, count(*) FROM willow_journal_v1 WHERE queue_name = %s GROUP BY 1 ORDER BY 1"
        assert cluster.query(outcomes, queue) == [("finished", 2), ("popped", 2)]


async def test_a_poster_that_cannot_be_told_does_not_keep_the_others_from_it(
    cluster: Cluster, connect: Connect, queue: str
) -> None:
    with broken_node(cluster, "delivery.sessions.posts:Posts.ended") as node:
        one, another = await connect(node), await connect(node)
        labels = [(client, await posts_of_every_kind(client, queue)) for client in (one, another)]
        for client, of_client in labels:
            for label in of_client:
                await client.expect(label, notice="sync")
