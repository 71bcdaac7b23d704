"""A claim is made, and the connection breaks before the broker hears of it: nobody works on the message."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.client import Client
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster
from willow_site.processes import wait_until

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = %s"
)
READERS, POSTERS = "willow claims", "willow posts"
CLAIM_FOR = (
    "UPDATE delivery_message SET state = 2, attempts = 1, assigned_at = now(), work_timeout = 3600,"
    " lease_until = now() + interval '1 hour', holder = (SELECT id FROM clients_session WHERE token = %s)"
    " WHERE queue_id = %s"
)

STORE_CLAIMED_FOR = """
    WITH advanced AS (
        UPDATE queues_counter c SET newest_index = newest_index + 1, next_sequence = next_sequence + 1
        FROM queues_queue q WHERE q.id = c.queue_id AND q.name = %s
        RETURNING q.id, newest_index, next_sequence
    )
    INSERT INTO delivery_message (
        queue_id, sequence, index, priority, state, body, holder, attempts, assigned_at, work_timeout, lease_until
    )
    SELECT advanced.id, next_sequence - 1, newest_index, 0, 2, 'unheard of', s.id, 1, now(), 3600,
           now() + interval '1 hour'
    FROM advanced, clients_session s WHERE s.token = %s
"""


@pytest.fixture(scope="module")
def cluster(start_cluster: StartCluster) -> Iterator[Cluster]:
    with start_cluster() as cluster:
        yield cluster


async def lose_the_answer_to_its_fetch(cluster: Cluster, client: Client, queue: str) -> None:
    """Its message is claimed in the database, and its fetch has failed."""
    shard = (await client.post(queue, "m"))["shard"]
    with psycopg.connect(cluster.database_url) as blocking:
        blocking.execute("LOCK TABLE delivery_pendingnotice IN EXCLUSIVE MODE")
        label = await client.begin("fetch", queue)
        await wait_until_blocked(cluster, READERS)
        cluster.query(CUT, READERS)
        await client.expect(label, type="error", code="Unavailable")
        blocking.execute(CLAIM_FOR, [client.id, shard])  # as if it had been cut a moment later


async def wait_until_blocked(cluster: Cluster, lane: str) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    assert await asyncio.to_thread(wait_until, lambda: cluster.query(waiting, lane), PATIENCE)


async def test_it_goes_back_while_its_client_stays(cluster: Cluster, connect: Connect, queue: str) -> None:
    client, other = await connect(cluster.node), await connect(cluster.node)
    await lose_the_answer_to_its_fetch(cluster, client, queue)
    answer = await other.ask_until_available("fetch", queue, block_timeout=PATIENCE)
    assert (answer["body"], answer["attempt"]) == ("m", 1)  # nobody had seen it


async def test_what_the_client_knows_stays_with_it(cluster: Cluster, connect: Connect, queue: str) -> None:
    client, other = await connect(cluster.node), await connect(cluster.node)
    await client.post(f"{queue}.known", "known")
    known = await client.fetch(f"{queue}.known")
    await lose_the_answer_to_its_fetch(cluster, client, queue)
    await other.ask_until_available("fetch", queue, block_timeout=PATIENCE)
    await client.finish(known)


@pytest.mark.parametrize("stored", [False, True], ids=["it was not stored", "it was stored"])
async def test_who_waited_for_a_post_that_broke_off_goes_on_waiting(
    cluster: Cluster, connect: Connect, queue: str, stored: bool
) -> None:
    poster, reader = await connect(cluster.node), await connect(cluster.node)
    await poster.post(queue, "before")
    await poster.finish(await poster.fetch(queue))
    label = await reader.begin_waiting("fetch", queue, block_timeout=PATIENCE)
    with psycopg.connect(cluster.database_url) as blocking:
        blocking.execute(
            "SELECT 1 FROM queues_counter WHERE queue_id = (SELECT id FROM queues_queue WHERE name = %s) FOR UPDATE",
            [queue],
        )
        post = await poster.begin("post", queue, message="broken off")
        await wait_until_blocked(cluster, POSTERS)
        cluster.query(CUT, POSTERS)
        await poster.expect(post, type="error", code="Unavailable")
        if stored:
            blocking.execute(STORE_CLAIMED_FOR, [queue, reader.id])  # as if it had been cut a moment later
    if stored:
        await reader.expect(label, type="message", body="unheard of", attempt=1)
    else:
        await poster.ask_until_available("post", queue, message="next", notify=["sync"])
        await reader.expect(label, type="message", body="next", attempt=1)
