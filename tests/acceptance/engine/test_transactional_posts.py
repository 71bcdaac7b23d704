"""Posts in an application's own transaction: seen with its commit, gone with its rollback, once and in order."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from tests.support.client import Client, Fields
from tests.support.cluster import PATIENCE, Cluster
from tests.support.fixtures import Connect, StartCluster

POST = "SELECT willow_post(%s, %s)"


@pytest.fixture
async def application(broker: Cluster) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(broker.database_url) as connection:
        yield connection


async def bodies(client: Client, queue: str, count: int) -> list[str]:
    taken: list[str] = []
    while len(taken) < count:
        label = await client.begin("pop", queue, timeout=PATIENCE, count=count - len(taken))
        frame: Fields = {"left": 1}
        while frame["left"]:
            frame = await client.expect(label, type="message")
            taken.append(frame["body"])
    return taken


async def test_a_post_is_seen_with_the_commit(
    application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    await application.execute(POST, [queue, "hello"])
    await client.finds_nothing(queue)
    await application.commit()
    assert await bodies(client, queue, 1) == ["hello"]


async def test_a_post_is_gone_with_the_rollback(
    application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    await application.execute(POST, [queue, "rolled back"])
    await application.rollback()
    async with application.transaction():
        await application.execute(POST, [queue, "first"])
        with pytest.raises(ZeroDivisionError):
            async with application.transaction():
                await application.execute(POST, [queue, "in a savepoint that failed"])
                raise ZeroDivisionError
        async with application.transaction():
            await application.execute(POST, [queue, "in a savepoint"])
        await application.execute(POST, [queue, "last"])
    await application.commit()
    assert await bodies(client, queue, 3) == ["first", "in a savepoint", "last"]


async def test_one_transactions_posts_keep_their_order(
    application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    await application.execute("SELECT willow_post(%s, n::text) FROM generate_series(1, 1200) n", [queue])
    await application.commit()
    assert await bodies(client, queue, 1200) == [str(number) for number in range(1, 1201)]


async def test_a_late_commit_loses_nothing_and_holds_nobody_up(
    broker: Cluster, application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    await application.execute(POST, [queue, "begun first"])
    for number in range(3):
        broker.query(POST, queue, f"committed {number}")
        assert await bodies(client, queue, 1) == [f"committed {number}"]
    await application.commit()
    assert await bodies(client, queue, 1) == ["begun first"]


async def test_transactions_come_in_the_order_of_their_commits(start_cluster: StartCluster, connect: Connect) -> None:
    """Also those that a node finds together: it looks only once in a long while here."""
    with start_cluster(WILLOW_TRANSACTIONAL_POST_SECONDS="3600") as cluster:
        first, second = [await psycopg.AsyncConnection.connect(cluster.database_url) for _ in range(2)]
        await first.execute(POST, ["orders", "written first"])
        await second.execute(POST, ["orders", "committed first"])
        for connection in (second, first):
            await connection.commit()
            await connection.close()
        cluster.node.stop()
        cluster.node.start()
        cluster.node.wait_until_ready()
        client = await connect(cluster.node)
        assert await bodies(client, "orders", 2) == ["committed first", "written first"]


async def test_the_order_of_commits_holds_over_more_than_is_moved_at_once(
    start_cluster: StartCluster, connect: Connect
) -> None:
    """As after an outage: all of it waits when the node comes."""
    with start_cluster() as cluster:
        cluster.node.stop()
        async with (
            await psycopg.AsyncConnection.connect(cluster.database_url) as late,
            await psycopg.AsyncConnection.connect(cluster.database_url) as early,
        ):
            await late.execute(POST, ["orders", "written first"])
            await early.execute("SELECT willow_post('orders', n::text) FROM generate_series(1, 600) n")
            await early.commit()
            await late.commit()
        cluster.node.start()
        cluster.node.wait_until_ready()
        client = await connect(cluster.node)
        assert await bodies(client, "orders", 601) == [*map(str, range(1, 601)), "written first"]


async def test_a_delay_counts_from_the_call_not_from_the_commit(
    application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    """As if the transaction had gone on for an hour after the call."""
    call = "SELECT willow_post(%s, %s, delay => 3600)"
    await application.execute(call, [queue, "due by now"])
    await application.execute("UPDATE delivery_transactionalpost SET posted_at = posted_at - interval '1 hour'")
    await application.execute(call, [queue, "in an hour"])
    clock = await application.execute(
        "SELECT posted_at > now() FROM delivery_transactionalpost WHERE body = 'in an hour'"
    )
    assert await clock.fetchone() == (True,), "the clock at the call, not at the transaction's beginning"
    await application.commit()
    assert await bodies(client, queue, 1) == ["due by now"]
    await client.finds_nothing(queue)


async def test_prepared_transactions(
    broker: Cluster, application: psycopg.AsyncConnection[Any], client: Client, queue: str
) -> None:
    await application.tpc_begin(application.xid(1, queue, "1"))
    await application.execute(POST, [queue, "prepared"])
    await application.tpc_prepare()
    broker.query(POST, queue, "meanwhile")
    assert await bodies(client, queue, 1) == ["meanwhile"]
    await application.tpc_commit()
    assert await bodies(client, queue, 1) == ["prepared"]


async def test_all_kinds_of_bodies_and_all_fields(broker: Cluster, client: Client, queue: str) -> None:
    broker.query(POST, queue, b"\x00\xff")
    broker.query("SELECT willow_post(%s, 'a literal')", queue)
    broker.query("SELECT willow_post(%s, %s::jsonb)", queue, '{"a": [1, "ü"]}')
    assert await bodies(client, queue, 3) == [[0, 255], "a literal", '{"a": [1, "ü"]}']
    broker.query("SELECT willow_post(%s, 'low')", queue)
    broker.query("SELECT willow_post(%s, 'high', priority => 5)", queue)
    broker.query("SELECT willow_post(%s, 'once', dedupe => 'x'), willow_post(%s, 'twice', dedupe => 'x')", queue, queue)
    broker.query("SELECT willow_post(%s, 'tagged', tags => ARRAY['eu', 'de', 'eu'])", queue)
    tagged = await client.pop(queue, tags=["de", "eu"], match="exact", timeout=PATIENCE)
    assert tagged["body"] == "tagged"
    assert await bodies(client, queue, 3) == ["high", "low", "once"]


async def test_headers_group_and_unique_text(broker: Cluster, client: Client, queue: str) -> None:
    call = "willow_post(%s, 'm', headers => '{\"a\": \"b\"}', \"group\" => 'g', \"unique\" => 'u')"
    # In one transaction: a second one could be taken after the pop, when no message with the text waits any more.
    broker.query(f"SELECT {call}, {call}, willow_post(%s, 'last')", queue, queue, queue)
    message = await client.pop(queue, timeout=PATIENCE)
    assert (message["headers"], message["group"]) == ({"a": "b"}, "g")
    assert await bodies(client, queue, 1) == ["last"]


async def test_a_queue_with_a_bound_takes_what_was_committed(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, max_length=1)
    broker.query("SELECT willow_post(%s, n::text) FROM generate_series(1, 3) n", queue)
    assert await bodies(client, queue, 3) == ["1", "2", "3"]


async def test_posts_to_a_queue_that_is_not_made_hold_up_no_others(
    start_cluster: StartCluster, connect: Connect
) -> None:
    """More of them than are looked at in one go."""
    with start_cluster(WILLOW_AUTO_DEFINE="false") as cluster:
        client = await connect(cluster.node)
        await client.create("orders")
        cluster.query("SELECT willow_post('not yet', n::text) FROM generate_series(1, 600) n")
        cluster.query("SELECT willow_post('orders', 'on its way')")
        assert await bodies(client, "orders", 1) == ["on its way"]
        await client.create("not yet")
        assert await bodies(client, "not yet", 600) == [str(number) for number in range(1, 601)]


BAD: dict[str, tuple[str, str]] = {
    "queue": ("willow_post('', 'b')", "queue must be a name of 1 to 200 printable ASCII"),
    "long queue": ("willow_post(repeat('q', 201), 'b')", "queue must be a name of 1 to 200 printable ASCII"),
    "queue not printable": ("willow_post(E'q\\n', 'b')", "queue must be a name of 1 to 200 printable ASCII"),
    "queue not ASCII": ("willow_post('\u00fcml\u00e4ut', 'b')", "queue must be a name of 1 to 200 printable ASCII"),
    "no queue": ("willow_post(NULL, 'b')", "queue must be a name"),
    "service": ("willow_post('service:prices', 'b')", "queue must not be that of a service"),
    "body": ("willow_post('q', NULL::text)", "body must not be null"),
    "priority": ("willow_post('q', 'b', priority => -1)", "priority must be a whole number from 0"),
    "delay": ("willow_post('q', 'b', delay => 'NaN')", "delay must be seconds"),
    "ttl": ("willow_post('q', 'b', ttl => -1)", "ttl must be seconds"),
    "tags": ("willow_post('q', 'b', tags => ARRAY[''])", "each of tags must be"),
    "tags in lists": (
        "willow_post('q', 'b', tags => ARRAY[['a'], ['b']])",
        "tags must be a list of texts, not of lists",
    ),
    "many tags": ("willow_post('q', 'b', tags => array_fill('t'::text, ARRAY[65]))", "at most 64 tags"),
    "key": ("willow_post('q', 'b', key => '')", "key must be a text"),
    "dedupe": ("willow_post('q', 'b', dedupe => repeat('d', 501))", "dedupe must be a text"),
    "headers": ("""willow_post('q', 'b', headers => '{"Bad Name": "v"}')""", "names of headers"),
    "header of ours": ("""willow_post('q', 'b', headers => '{"willow-due": "v"}')""", "not begin with willow-"),
    "header value": ("""willow_post('q', 'b', headers => '{"name": 1}')""", "values of headers"),
    "header list": ("willow_post('q', 'b', headers => '[]')", "headers must be an object"),
    "group": ("""willow_post('q', 'b', "group" => '')""", "group must be a text"),
    "unique": ("""willow_post('q', 'b', "unique" => repeat('u', 201))""", "unique must be a text"),
}


@pytest.mark.parametrize("call", BAD, ids=str)
def test_bad_input_is_refused_at_the_call(broker: Cluster, call: str) -> None:
    statement, complaint = BAD[call]
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=complaint):
        broker.query(f"SELECT {statement}")  # type: ignore[arg-type]


async def test_a_killed_node_neither_loses_nor_doubles(start_cluster: StartCluster, connect: Connect) -> None:
    """Two nodes move in turns, and one of them is killed in the middle of it."""
    with start_cluster(nodes=2, WILLOW_TRANSACTIONAL_POST_SECONDS="0.01") as cluster:
        victim, other = cluster.nodes
        client = await connect(other)
        cluster.query("SELECT willow_post('orders', n::text) FROM generate_series(0, 5999) n")
        assert await bodies(client, "orders", 1) == ["0"]
        victim.kill()
        assert await bodies(client, "orders", 5999) == [str(number) for number in range(1, 6000)]
        assert cluster.query("SELECT count(*) FROM delivery_transactionalpost") == [(0,)]
