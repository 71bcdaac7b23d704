"""A claim is made, and the connection breaks before the broker hears of it: nobody works on the message."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from tests.brokers.client import Client
from tests.brokers.cluster import Cluster
from tests.brokers.fixtures import Connect, StartCluster

CUT_READERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'willow turns'"
)
CLAIM_FOR = (
    "UPDATE delivery_message SET state = 2, attempts = 1, assigned_at = now(), work_timeout = 3600,"
    " lease_until = now() + interval '1 hour', holder = (SELECT id FROM clients_session WHERE token = %s)"
    " WHERE queue_id = %s"
)


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster() as cluster:
        yield cluster


async def lose_the_answer_to_its_fetch(cluster: Cluster, client: Client, queue: str) -> int:
    """Its message is claimed in the database, and its fetch has failed. Returns the fetch's label."""
    shard = (await client.post(queue, "m"))["shard"]
    with psycopg.connect(cluster.database_url) as blocking:
        blocking.execute("LOCK TABLE delivery_pendingnotice IN EXCLUSIVE MODE")
        label = await client.begin("fetch", queue)
        await wait_for_a_blocked_reader(cluster)
        cluster.query(CUT_READERS)
        await client.expect(label, type="error", code="Unavailable")
        blocking.execute(CLAIM_FOR, [client.id, shard])  # as if it had been cut a moment later
    return label


async def wait_for_a_blocked_reader(cluster: Cluster) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'willow turns' AND wait_event_type = 'Lock'"
    while not await asyncio.to_thread(cluster.query, waiting):
        pass


async def test_it_goes_back_while_its_client_stays(cluster: Cluster, connect: Connect, queue: str) -> None:
    client, other = await connect(cluster.node), await connect(cluster.node)
    await lose_the_answer_to_its_fetch(cluster, client, queue)
    answer = await other.ask_until_available("fetch", queue, block_timeout=20)
    assert (answer["body"], answer["attempt"]) == ("m", 2)


async def test_what_the_client_knows_stays_with_it(cluster: Cluster, connect: Connect, queue: str) -> None:
    client, other = await connect(cluster.node), await connect(cluster.node)
    await client.post(f"{queue}.known", "known")
    known = await client.fetch(f"{queue}.known")
    await lose_the_answer_to_its_fetch(cluster, client, queue)
    await other.ask_until_available("fetch", queue, block_timeout=20)
    await client.finish(known)
