"""Section 5 of the protocol: attempts that fail, and dead letters."""

from typing import Any

import pytest

from tests.support.client import Client, Fields, claim
from tests.support.cluster import Cluster
from tests.support.fixtures import Connect
from tests.support.keys import make_key


def stored(broker: Cluster, message: Fields, *columns: str) -> Any:
    """These columns of a message's row."""
    [row] = broker.query(
        f"SELECT {', '.join(columns)} FROM delivery_message WHERE queue_id = %s AND sequence = %s",
        message["shard"],
        message["sequence"],
    )
    return row


async def _fail_until_dead(client: Client, queue: str, attempts: int, **fields: Any) -> None:
    for attempt in range(1, attempts + 1):
        message = await client.fetch(queue, block_timeout=30)
        assert message["attempt"] == attempt
        await client.fail(message, **fields)


async def test_a_failed_message_comes_back_in_its_old_place(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=0)
    await client.post_all(queue, ["1", "2", "3"])
    await client.fail(await client.fetch(queue))
    assert [message["body"] for message in await client.fetch_all(queue, 3)] == ["1", "2", "3"]


async def test_the_error_of_a_failure_is_kept_with_the_message(broker: Cluster, client: Client, queue: str) -> None:
    await client.post(queue, "m")
    message = await client.fetch(queue)
    await client.fail(message, error="no paper")
    assert stored(broker, message, "last_error") == ("no paper",)


async def test_a_failure_can_choose_its_delay(client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=3600)
    await client.post_all(queue, ["at once", "later"])
    at_once, later = await client.fetch_all(queue, 2)
    await client.fail(later, delay=3600)
    await client.fail(at_once, delay=0)
    assert (await client.fetch(queue, block_timeout=30))["body"] == "at once"
    await client.finds_nothing(queue)


async def test_the_delay_grows_with_each_attempt_up_to_its_bound(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_delay=100, retry_backoff=3, retry_delay_max=500, retry_limit=10)
    await client.post(queue, "m")
    for expected in (100, 300, 500, 500):
        message = await client.fetch(queue, block_timeout=30)
        await client.fail(message)
        (seconds,) = stored(broker, message, "extract(epoch FROM available_at - now())::float")
        assert 0.7 * expected < seconds <= 1.25 * expected
        broker.query("UPDATE delivery_message SET available_at = now() WHERE queue_id = %s", message["shard"])


async def test_messages_that_failed_together_do_not_come_back_together(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.create(queue, retry_delay=100)
    await client.post_all(queue, [str(number) for number in range(20)])
    for message in await client.fetch_all(queue, 20):
        await client.fail(message)
    [(times,)] = broker.query(
        "SELECT count(DISTINCT round(extract(epoch FROM available_at))) FROM delivery_message WHERE queue_id = %s",
        message["shard"],
    )
    assert times > 5


async def test_a_message_is_dead_when_its_failures_reach_the_retry_limit(
    broker: Cluster, client: Client, queue: str
) -> None:
    await client.create(queue, retry_limit=2, retry_delay=0)
    notice = await client.post(queue, "m", priority=7)
    await _fail_until_dead(client, queue, attempts=2, error="no paper")
    await client.finds_nothing(queue)
    dead = await client.fetch(f"{queue}.dead")
    assert (dead["body"], dead["priority"], dead["queue"]) == ("m", 7, f"{queue}.dead")
    columns = ("origin_queue_id", "origin_index", "origin_attempts", "last_error", "dead_reason")
    assert stored(broker, dead, *columns) == (notice["shard"], notice["index"], 2, "no paper", "failed")


async def test_three_failures_are_the_limit_unless_somebody_says_otherwise(client: Client, queue: str) -> None:
    await client.post(queue, "m")
    for _ in range(3):
        await client.fail(await client.fetch(queue, block_timeout=30), delay=0)
    await client.fetch(f"{queue}.dead")


async def test_a_dead_letter_knows_the_client_that_had_it_last(broker: Cluster, connect: Connect, queue: str) -> None:
    key = make_key(broker, {"*": {"create", "fetch", "post"}})
    client = await connect(token=key.secret)
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    await client.fail(await client.fetch(queue))
    dead = await client.fetch(f"{queue}.dead")
    assert stored(broker, dead, "last_client") == (key.client,)


async def test_a_dead_letter_tells_a_timeout_from_a_failure(broker: Cluster, client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    await client.fetch(queue, work_timeout=0.1)
    dead = await client.fetch(f"{queue}.dead", block_timeout=30)
    assert stored(broker, dead, "dead_reason") == ("timeout",)


async def test_a_dead_letter_tells_a_disconnect_from_a_failure(
    broker: Cluster, client: Client, other: Client, queue: str
) -> None:
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    await other.fetch(queue)
    await other.close()
    dead = await client.fetch(f"{queue}.dead", block_timeout=30)
    assert stored(broker, dead, "dead_reason") == ("disconnected",)


async def test_a_dead_letter_queue_has_the_tags_of_its_queue(client: Client, queue: str) -> None:
    await client.create(queue, tags=["b", "a"], retry_limit=1)
    await client.post(queue, "m", tags=["a", "b"])
    await client.fail(await client.fetch(queue))
    dead = await client.fetch(f"{queue}.dead", tags=["a", "b"])
    assert dead["tags"] == ["a", "b"]


async def test_dead_letters_can_be_popped_and_finished(client: Client, queue: str) -> None:
    await client.create(queue, retry_limit=1)
    await client.post_all(queue, ["1", "2"])
    for message in await client.fetch_all(queue, 2):
        await client.fail(message)
    dead = f"{queue}.dead"
    await client.finish(await client.fetch(dead))
    assert (await client.pop(dead))["body"] == "2"
    await client.finds_nothing(dead)


@pytest.mark.parametrize("settings", [{}, {"retry_limit": 1}], ids=["made when needed", "created"])
async def test_a_dead_letter_stays_where_it_is_however_often_it_fails(
    broker: Cluster, client: Client, queue: str, settings: dict[str, int]
) -> None:
    dead = f"{queue}.dead"
    if settings:
        await client.create(dead, **settings)
    await client.create(queue, retry_limit=1)
    await client.post(queue, "m")
    await client.fail(await client.fetch(queue))
    for attempt in range(1, 6):
        message = await client.fetch(dead, block_timeout=30)
        assert message["attempt"] == attempt
        await client.fail(message, delay=0)
    assert broker.query("SELECT FROM queues_queue WHERE name = %s", f"{dead}.dead") == []


async def test_a_message_can_die_when_there_are_as_many_queues_as_allowed(
    start_cluster: Any, connect: Connect, queue: str
) -> None:
    with start_cluster(WILLOW_MAX_QUEUE_COUNT="1") as cluster:
        client = await connect(cluster.node)
        await client.create(queue, retry_limit=1)
        label = await client.begin("create", f"{queue}-other")
        await client.expect(label, code="Overloaded")
        await client.post(queue, "m")
        await client.fail(await client.fetch(queue))
        assert (await client.fetch(f"{queue}.dead"))["body"] == "m"
        await client.close()


@pytest.mark.parametrize("binary", [False, True])
async def test_a_final_failure_goes_to_the_dead_letters_however_many_attempts_are_left(
    client: Client, queue: str, binary: bool
) -> None:
    await client.create(queue, retry_limit=5)
    await client.post(queue, "m")
    message = await client.fetch(queue)
    label = client.label()
    send = client.send_binary if binary else client.send
    await send({"type": "fail", **claim(message), "final": True, "response": "write", "label": label})
    await client.expect(label, notice="write")
    dead = await client.fetch(f"{queue}.dead")
    assert dead["body"] == "m"
