"""kill -9 of a broker right after a notice: the message is there."""

import pytest

from tests.support.cluster import PATIENCE
from tests.support.fixtures import Connect, StartCluster

STORED = "SELECT convert_from(body, 'UTF8') FROM delivery_message ORDER BY index"


@pytest.mark.parametrize("stage", ["write", "sync"])
async def test_every_post_that_was_written_is_there(
    start_cluster: StartCluster, connect: Connect, queue: str, stage: str
) -> None:
    with start_cluster() as cluster:
        client = await connect(cluster.node)
        labels = [await client.begin("post", queue, message=str(n), notify=[stage]) for n in range(100)]
        for label in labels[:50]:
            await client.expect(label, notice=stage)
        cluster.node.kill()
        told = [str(n) for n, label in enumerate(labels) if n < 50 or client.unread(label)]
        stored = [body for (body,) in cluster.query(STORED)]
    assert set(told) <= set(stored)


async def test_a_broker_that_comes_back_hands_out_what_was_stored(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster() as cluster:
        client = await connect(cluster.node)
        await client.post_all(queue, ["claimed", "waiting"])
        claimed = await client.fetch(queue)
        cluster.node.kill()
        cluster.node.start()
        cluster.node.wait_until_ready()
        again = await connect(cluster.node, id=client.id)
        assert (await again.fetch(queue))["body"] == "waiting"
        await again.finish(claimed)
        await again.close()


async def test_another_reaper_takes_over_from_one_that_was_killed(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    with start_cluster() as cluster:
        client = await connect(cluster.node)
        await client.create(queue, retry_delay=0, retry_limit=10)
        await client.post(queue, "m")
        reapers = [cluster.add_reaper()]
        await client.fetch(queue, work_timeout=0.1)
        await client.fetch(queue, work_timeout=1000, block_timeout=PATIENCE)  # the first reaper is at work
        reapers.append(cluster.add_reaper())
        reapers[0].kill()
        cluster.query("UPDATE delivery_message SET lease_until = now()")
        assert (await client.fetch(queue, block_timeout=PATIENCE))["attempt"] == 3
        await client.close()
