"""A post to several queues is in all of them or in none. (Full queues: test_posting.py.)"""

from tests.support.client import Client
from tests.support.fixtures import Connect, StartCluster


async def test_a_post_is_in_none_of_its_queues_if_one_was_deleted(
    start_cluster: StartCluster, connect: Connect, queue: str
) -> None:
    kept, deleted = f"{queue}-kept", f"{queue}-deleted"
    with start_cluster(WILLOW_POLL_SECONDS="3600") as cluster:  # so that the node does not notice beforehand
        client = await connect(cluster.node)
        for each in (kept, deleted):
            await client.finds_nothing(each)
        cluster.query("DELETE FROM queues_queue WHERE name = %s", deleted)
        label = await client.begin("post", [kept, deleted], message="1", notify=["sync"])
        await client.expect(label, type="error", code="NoObject", key=deleted)
        await client.finds_nothing(kept)
        await client.begin("post", [kept, deleted], message="2")  # by now it knows, and makes the queue anew
        assert [(await client.fetch(each))["body"] for each in (kept, deleted)] == ["2", "2"]
        await client.close()


async def test_a_post_may_go_to_a_work_queue_and_a_stream_at_once(client: Client, queue: str, name: str) -> None:
    stream = f"{queue}-stream"
    await client.create(stream, kind="stream")
    await client.register(name)
    label = await client.subscribe(stream)
    await client.begin("post", [queue, stream], message="m")
    await client.expect(label, type="message", queue=stream, body="m")
    assert (await client.fetch(queue))["body"] == "m"
