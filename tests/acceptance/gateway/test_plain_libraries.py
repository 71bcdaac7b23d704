"""A broker on Daphne and psycopg as they are: for the day on which a new version moves what Willow overrides."""

from collections.abc import Iterator

import pytest

from tests.support.client import Client
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect, StartCluster

LARGEST_FRAME = 100_000  # bytes
DROPPED = 1006  # Autobahn says no reason


@pytest.fixture(scope="module")
def plain(start_cluster: StartCluster) -> Iterator[Cluster]:
    limits = {"WILLOW_MAX_FRAME_BYTES": str(LARGEST_FRAME), "WILLOW_MAX_BODY_BYTES": str(LARGEST_FRAME)}
    with start_cluster(reaper=True, WILLOW_PLAIN_DAPHNE="on", WILLOW_PLAIN_PSYCOPG="on", **limits) as cluster:
        yield cluster


@pytest.fixture
async def client(plain: Cluster, connect: Connect) -> Client:
    return await connect(plain.node)


async def test_messages_go_their_way(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    await client.post_all(queue, ["1", "2", "3"])
    await client.finish(await client.fetch(queue))
    failing = await client.fetch(queue)
    label = await client.begin("fail", queue, shard=failing["shard"], sequence=failing["sequence"], response="sync")
    await client.expect(label, notice="sync")
    assert (await client.pop(queue))["body"] == "3"
    assert (await client.pop(f"{queue}.dead"))["body"] == "2"


async def test_a_waiting_client_is_woken(client: Client, connect: Connect, plain: Cluster, queue: str) -> None:
    waiting = await client.begin("fetch", queue, block_timeout=30)
    await (await connect(plain.node)).post(queue, "m")
    await client.expect(waiting, type="message", body="m")


async def test_a_frame_that_is_too_large_closes_its_connection(client: Client, queue: str) -> None:
    await client.begin("post", queue, message="x" * LARGEST_FRAME)
    assert await client.closed_by_broker() == DROPPED


async def test_text_that_is_no_utf8_closes_its_connection(client: Client) -> None:
    await client.socket.send(b"\xff", text=True)
    assert await client.closed_by_broker() == DROPPED
